"""How to cite the package and the papers whose theorems it computes with. CITATION.cff says the same, for machines."""

from ._core import __version__

_ENTRIES = r"""@software{implicit_bias,
  title   = {{implicit\_bias}: where gradient flow ends, what it implicitly minimised, and a proof},
  author  = {{The implicit\_bias authors}},
  version = {%s},
  year    = {2026},
}

@inproceedings{azulay2021implicit,
  title     = {On the Implicit Bias of Initialization Shape: Beyond Infinitesimal Mirror Descent},
  author    = {Azulay, Shahar and Moroshko, Edward and Nacson, Mor Shpigel and Woodworth, Blake and
               Srebro, Nathan and Globerson, Amir and Soudry, Daniel},
  booktitle = {Proceedings of the 38th International Conference on Machine Learning},
  series    = {Proceedings of Machine Learning Research},
  volume    = {139},
  pages     = {468--477},
  year      = {2021},
}

@inproceedings{woodworth2020kernel,
  title     = {Kernel and Rich Regimes in Overparametrized Models},
  author    = {Woodworth, Blake and Gunasekar, Suriya and Lee, Jason D. and Moroshko, Edward and
               Savarese, Pedro and Golan, Itay and Soudry, Daniel and Srebro, Nathan},
  booktitle = {Proceedings of the Thirty-Third Conference on Learning Theory},
  series    = {Proceedings of Machine Learning Research},
  volume    = {125},
  pages     = {3635--3673},
  year      = {2020},
}
"""


def citation() -> str:
    """BibTeX entries to cite: this version of the package, and the two papers whose theorems it computes with.

    Returns
    -------
    str
        Three entries: ``implicit_bias``, ``azulay2021implicit`` for the potential of any start, its scale and its
        shape, and ``woodworth2020kernel`` for the two regimes. Cite the paper whose theorem you use.

    Examples
    --------
    >>> import implicit_bias as ib
    >>> print(ib.citation().splitlines()[0])
    @software{implicit_bias,
    """
    return _ENTRIES % __version__
