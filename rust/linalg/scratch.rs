//! The working memory faer asks for, owned by whoever calls it again and again.

use core::fmt;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};

/// A buffer of the requested size. A clone has its own.
pub(super) struct Scratch {
    request: StackReq,
    buffer: MemBuffer,
}

impl Scratch {
    pub(super) fn new(request: StackReq) -> Self {
        Self { request, buffer: MemBuffer::new(request) }
    }

    pub(super) fn stack(&mut self) -> &mut MemStack {
        MemStack::new(&mut self.buffer)
    }
}

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::new(self.request)
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scratch").field(&self.request).finish()
    }
}
