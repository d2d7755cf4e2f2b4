"""How every plot looks: colours, line styles, the legend. Knows no result."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito, "Color Universal Design" (2008), without the yellow, which paper swallows.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
GREY = "0.75"


def legend(ax: "Axes", **where: Any) -> None:
    """The legend of every plot: long handles, so that line styles can be told apart in it."""
    ax.legend(fontsize="small", frameon=False, handlelength=3.0, **where)


def across(ax: "Axes", levels: Mapping[str, float]) -> None:
    """Horizontal lines under their names."""
    for (name, level), style in zip(levels.items(), cycle(("--", ":", "-."), len(levels)), strict=True):
        ax.axhline(level, color="0.35", linestyle=style, linewidth=1.2, label=name, zorder=1)


def cycle(items: Any, n: int) -> list[Any]:
    """The first `n` of `items`, over and over."""
    return [items[k % len(items)] for k in range(n)]


def looks(n: int) -> list[dict[str, Any]]:
    """Colour and line style of `n` lines; past seven the colours repeat with other styles."""
    return [
        {
            "color": COLOURS[k % len(COLOURS)],
            "linestyle": STYLES[(k + k // len(COLOURS)) % len(STYLES)],
            "linewidth": 1.5,
        }
        for k in range(n)
    ]


def axes(ax: "Axes | None") -> "Axes":
    """Those that were given, or those of a new pyplot figure, which notebooks show."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]
