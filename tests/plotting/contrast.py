"""Whether what is drawn can be seen: contrast of words and lines with their ground, by the formula of WCAG 2."""

import numpy as np
from matplotlib.colors import to_rgba

WORDS, LINES = 4.5, 3.0  # contrast, as WCAG 2 asks for


def contrast(first, second):
    """Of two opaque colours, 1 to 21."""
    lights = []
    for color in (first, second):
        rgb = np.array(to_rgba(color)[:3])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        lights.append(float(linear @ [0.2126, 0.7152, 0.0722]))
    low, high = sorted(lights)
    return (high + 0.05) / (low + 0.05)


def unseen(figure):
    """Words and lines with too little contrast with the axes that they are on."""
    figure.canvas.draw()
    found = []
    for axes in figure.axes:
        ground, page = axes.get_facecolor(), figure.get_facecolor()
        words = [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_yticklabels()]
        legend = axes.get_legend()
        words += [] if legend is None else legend.get_texts()
        found += [one.get_text() for one in words if one.get_text() and contrast(one.get_color(), page) < WORDS]
        found += [line for line in axes.lines if contrast(line.get_color(), ground) < LINES]
        found += [spine for spine in axes.spines.values() if contrast(spine.get_edgecolor(), ground) < LINES]
    return found


def names(figure):
    """What stands in the legends of all axes and of the figure, from the top."""
    legends = [*(axes.get_legend() for axes in figure.axes), *figure.legends]
    return [words.get_text() for legend in legends if legend is not None for words in legend.get_texts()]
