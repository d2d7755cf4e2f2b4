"""Equality of results: every array bit by bit, all the way down."""

import dataclasses

import numpy as np


def same(a, b):
    """Whether two results hold the same bits; NaN equals itself, and 0 does not equal -0."""
    if isinstance(a, np.ndarray):
        if a.dtype == object:  # whose bits are addresses
            return b.dtype == object and a.tolist() == b.tolist()
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(map(same, a.values(), b.values()))
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, KeyboardInterrupt):
        return type(a) is type(b) and same(a.partial, b.partial)
    return a == b
