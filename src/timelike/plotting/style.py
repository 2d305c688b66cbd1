"""The style of all figures: light and dark pages, axes, line colours, and readable text colours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# told apart by colour-blind readers, with a contrast of at least 3 on white and on DARK_BACKGROUND
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#946038", "#8455E6", "#7F7F7F")
_NEARLY_BLACK = "#050505"  # black itself is the ink of the page in `html.figure_html`
_MAX_DATES = 5  # on an axis, so that they do not overlap
DARK_BACKGROUND = "#16181d"
_DARK_TEXT = "#d8dbe2"
_TEXT_SETTINGS = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor")


@contextmanager
def page_theme(dark: bool) -> Iterator[None]:
    """Figures made inside are for a dark page, or for whatever matplotlib is set to, which is a light one at first.

    >>> from timelike.plotting import style
    >>> with style.page_theme(dark=True):
    ...     style.text_color()
    '#d8dbe2'
    """
    from matplotlib import rc_context

    if not isinstance(dark, bool):
        raise TypeError(f"dark={dark!r}: expected True or False")
    dark_settings = {
        "figure.facecolor": DARK_BACKGROUND,
        "axes.facecolor": DARK_BACKGROUND,
        **dict.fromkeys(_TEXT_SETTINGS, _DARK_TEXT),
    }
    with rc_context(dark_settings if dark else {}):  # type: ignore[arg-type]
        yield


def text_color() -> Any:
    """The current colour of text: black on a light page."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def luminance(color: Any) -> float:
    """How light a colour is, 0 to 1, as WCAG 2 defines it: weights of linear red, green and blue.

    >>> luminance("black"), round(luminance("#7F7F7F"), 3), luminance("white")
    (0.0, 0.212, 1.0)
    """
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return round(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2], 6)


def contrasting_color(color: Any) -> str:
    """Nearly black or white, whichever has more contrast with a ground of this colour.

    >>> contrasting_color("#0072B2"), contrasting_color("#E69F00")
    ('white', '#050505')
    """
    ground, ink = luminance(color) + 0.05, luminance(_NEARLY_BLACK) + 0.05
    return "white" if 1.05 / ground > ground / ink else _NEARLY_BLACK


def escape_mathtext(words: Any) -> str:
    """Text without formulas: matplotlib would read what stands between two dollars as one."""
    return str(words).replace("$", r"\$")


def style_axes(axes: Axes, *, counts: bool = True) -> None:
    """Axes without a box, with whole numbers on x if it `counts` steps, and short dates if it has dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    axes.spines[["top", "right"]].set_visible(False)
    if counts:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif isinstance(axes.xaxis.get_major_locator(), AutoDateLocator):
        locator = AutoDateLocator(minticks=2, maxticks=_MAX_DATES)  # type: ignore[no-untyped-call]
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
