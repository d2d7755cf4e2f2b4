//! The data and products with it.

/// A row-major view of data: `n` samples (rows) of `d` features.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    data: &'a [f64],
    n: usize,
    d: usize,
}

impl<'a> Rows<'a> {
    /// View `data`, row after row. `None` unless its length is `n · d`.
    #[must_use]
    pub fn new(data: &'a [f64], n: usize, d: usize) -> Option<Self> {
        (n.checked_mul(d) == Some(data.len())).then_some(Self { data, n, d })
    }
    /// Number of rows (samples).
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }
    /// Number of columns (features).
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }
    /// The i-th row.
    #[must_use]
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.d..(i + 1) * self.d]
    }
}
