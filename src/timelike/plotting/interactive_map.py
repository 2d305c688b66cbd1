"""A map of points in a page: hovering, clicking and the arrow keys show a point's lines and neighbours. No requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .sparklines import thin_line
from .style import COLORS

WIDTH, HEIGHT, _MARGIN = 600, 420, 14
_LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_MISSING = "."
_LINE_POINTS = 40  # of the line of one channel
_MAX_STYLES = 42  # classes that have a look of their own
_SHAPES = (  # within a square from −1 to 1
    '<circle r="0.9"/>',
    '<path d="M-.8-.8H.8V.8H-.8z"/>',
    '<path d="M0-1L1 .8H-1z"/>',
    '<path d="M0-1.1L1.1 0 0 1.1-1.1 0z"/>',
    '<path d="M0 1L1-.8H-1z"/>',
    '<path d="M-.35-1H.35V-.35H1V.35H.35V1H-.35V.35H-1V-.35H-.35z"/>',
)


class MapView(NamedTuple):
    """One way to bring the points to the plane: its name, places (item, 2), and a sentence about it."""

    name: str
    places: NDArray[Any]
    note: str


class MapPoints(NamedTuple):
    """What is known about every point; `lines` has for every point the values of some channels, each (time,)."""

    names: Sequence[str]
    codes: NDArray[Any]
    """The class of each point, a position in `classes`; −1 for none."""
    classes: Sequence[str]
    answers: Sequence[str] | None
    is_wrong: NDArray[np.bool_] | None
    facts: Sequence[tuple[str, Sequence[str]]]
    neighbors: NDArray[np.int64]
    """The positions of the nearest points (item, k)."""
    channels: Sequence[str]
    lines: Sequence[Sequence[NDArray[Any]]]


def interactive_map(views: Sequence[MapView], points: MapPoints, *, label: str) -> str:
    """The map as a `<figure>` with its data and script; `label` says what it shows to those who do not see it."""
    places = [_fit_view(view.places) for view in views]
    content = {
        "views": [
            {"name": view.name, "x": place[:, 0].tolist(), "y": place[:, 1].tolist(), "note": view.note}
            for view, place in zip(views, places, strict=True)
        ],
        "names": list(points.names),
        "codes": points.codes.tolist(),
        "classes": list(points.classes),
        "answers": None if points.answers is None else list(points.answers),
        "wrong": None if points.is_wrong is None else np.flatnonzero(points.is_wrong).tolist(),
        "facts": [[name, list(values)] for name, values in points.facts],
        "near": points.neighbors.tolist(),
        "channels": list(points.channels),
        "lines": _encode_lines(points.lines),
        "colors": COLORS,
    }
    buttons = "".join(
        f'<button type="button" data-view="{i}" aria-pressed="{"true" if i == 0 else "false"}">{escape(view.name)}'
        "</button> "
        for i, view in enumerate(views)
    )
    choice = f'<div role="group" aria-label="Kind of map" style="margin-bottom:.4rem">{buttons}</div>'
    return (
        '<figure data-timelike-map style="position:relative">'
        f"{choice if len(views) > 1 else ''}"
        '<div style="display:flex;flex-wrap:wrap;gap:1rem">'
        f'<div style="flex:1 1 26rem;min-width:min(100%,18rem)">{_draw_points(places[0], points, label)}'
        f"{_draw_legend(points)}</div>"
        f'<div style="flex:1 1 13rem;min-width:0"><p style="margin-top:0"><label>Find <input type="search" '
        f'autocomplete="off" style="max-width:10rem"></label></p><div data-card aria-live="polite"></div></div></div>'
        f"<figcaption data-note>{escape(views[0].note)}</figcaption>"
        f'<script type="application/json">{_to_script_json(content)}</script></figure><script>{SCRIPT}</script>'
    )


def _fit_view(places: NDArray[Any]) -> NDArray[np.float64]:
    """Places in the drawing, from edge to edge, the second axis upwards."""
    places = np.asarray(places, np.float64)
    low, high = places.min(axis=0), places.max(axis=0)
    spread = np.where(high > low, high - low, 1.0)
    share = np.where(high > low, (places - low) / spread, 0.5)
    share[:, 1] = 1 - share[:, 1]
    room = np.array([WIDTH, HEIGHT]) - 2 * _MARGIN
    return np.asarray(np.round(_MARGIN + share * room, 1))


def _look(code: int) -> tuple[str, int]:
    """The colour and the shape of a class; those beyond all looks, and points without a class, share grey or blue."""
    if code < 0:
        return COLORS[0], 0
    if code >= _MAX_STYLES:
        return COLORS[-1], 0
    n_colors = len(COLORS) - 1  # grey is for the rest
    return COLORS[code % n_colors], code // n_colors % len(_SHAPES)


def _draw_points(places: NDArray[np.float64], points: MapPoints, label: str) -> str:
    size = float(np.clip(120 / np.sqrt(max(len(places), 1)), 3.0, 6.5))
    wrong = np.zeros(len(places), bool) if points.is_wrong is None else points.is_wrong
    drawn = []
    for is_wrong in (False, True):  # wrong ones above the others
        for code in np.unique(points.codes[wrong == is_wrong]).tolist():
            color, shape = _look(code)
            members = np.flatnonzero((points.codes == code) & (wrong == is_wrong)).tolist()
            outline = f'stroke="currentColor" stroke-width="{2.2 / size:.2f}"' if is_wrong else 'stroke="none"'
            marks = "".join(
                f'<g data-i="{i}" transform="translate({places[i, 0]:g} {places[i, 1]:g}) scale({size:.3g})">'
                f"{_SHAPES[shape]}</g>"
                for i in members
            )
            drawn.append(f'<g data-class="{code}" fill="{color}" fill-opacity="0.85" {outline}>{marks}</g>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}" tabindex="0" '
        f'data-size="{size:.3g}" style="width:100%;height:auto;touch-action:manipulation">'
        f'<rect x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" fill="none" stroke="currentColor" '
        f'stroke-opacity="0.3"/><g data-links stroke="currentColor" stroke-opacity="0.55"></g>{"".join(drawn)}'
        '<g data-mark fill="none" stroke="currentColor" stroke-width="2"></g></svg>'
    )


def _draw_legend(points: MapPoints) -> str:
    """The classes as buttons that fade the others out."""
    if not len(points.classes):
        return ""
    shown = np.unique(points.codes[points.codes >= 0]).tolist()
    listed = shown if len(shown) <= _MAX_STYLES else shown[: _MAX_STYLES - 1]
    entries = []
    for code in listed:
        color, shape = _look(code)
        entries.append(
            f'<button type="button" data-class="{code}" aria-pressed="false"><svg aria-hidden="true" width="12" '
            f'height="12" viewBox="-1.2 -1.2 2.4 2.4" fill="{color}">{_SHAPES[shape]}</svg> '
            f"{escape(points.classes[code])}</button> "
        )
    more = f"<span>{len(shown) - len(listed)} more in grey</span>" if len(listed) < len(shown) else ""
    ring = "<div>A ring: the answer is wrong.</div>" if points.is_wrong is not None and points.is_wrong.any() else ""
    shown_classes = "".join([*entries, more, ring])
    return f'<div role="group" aria-label="Classes" data-legend style="margin-top:.5rem">{shown_classes}</div>'


def _encode_lines(lines: Sequence[Sequence[NDArray[Any]]]) -> list[list[str]]:
    """Every line as text, a letter for each point, between the smallest and the largest value of its channel."""
    if not lines or not len(lines[0]):
        return []
    with np.errstate(invalid="ignore"):
        ends = [
            (float(np.fmin.reduce([np.fmin.reduce(values) for values in column])),
             float(np.fmax.reduce([np.fmax.reduce(values) for values in column])))
            for column in zip(*lines, strict=True)
        ]  # fmt: skip
    return [[_encode_line(values, *end) for values, end in zip(one, ends, strict=True)] for one in lines]


def _encode_line(values: NDArray[Any], low: float, high: float) -> str:
    """The line in at most `_LINE_POINTS` letters, which keep its peaks.

    >>> _encode_line(np.array([0.0, 1.0, np.nan, 0.5]), 0.0, 1.0)
    '0_.W'
    """
    values = np.asarray(values, np.float64)
    values = thin_line(np.arange(len(values), dtype=np.float64), values, _LINE_POINTS // 2)[1]
    half = high / 2 - low / 2  # a difference may overflow
    share = (values / 2 - low / 2) / half if half > 0 else np.where(np.isnan(values), np.nan, 0.5)
    levels = np.round(np.nan_to_num(share) * (len(_LEVELS) - 1)).astype(np.int64)
    return "".join(_MISSING if np.isnan(s) else _LEVELS[level] for s, level in zip(share, levels.tolist(), strict=True))


def _to_script_json(content: Any) -> str:
    r"""JSON that cannot end the element it stands in, whatever its texts are.

    >>> _to_script_json(["</script><!--"])
    '["\\u003c/script\\u003e\\u003c!--"]'
    """
    text = json.dumps(content, separators=(",", ":"))  # ASCII alone
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


SCRIPT = """
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const LEVELS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
  const add = (parent, tag, attributes = {}, text = "") => {
    const svg = parent.namespaceURI === SVG || tag === "svg";
    const made = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const name in attributes) made.setAttribute(name, attributes[name]);
    made.textContent = text;
    return parent.appendChild(made);
  };
  const path = (line, width, height) => {
    let d = "", pen = "M";
    [...line].forEach((letter, i) => {
      const level = LEVELS.indexOf(letter);
      if (level < 0) { pen = "M"; return; }
      const x = line.length > 1 ? 2 + i / (line.length - 1) * (width - 4) : width / 2;
      d += pen + x.toFixed(1) + " " + (height - 2 - level / 63 * (height - 4)).toFixed(1) + (pen === "M" ? "h0" : "");
      pen = "L";
    });
    return d;
  };
  for (const figure of document.querySelectorAll("[data-timelike-map]:not([data-ready])")) {
    figure.dataset.ready = "";
    const data = JSON.parse(figure.querySelector("script").textContent);
    const map = figure.querySelector("svg"), card = figure.querySelector("[data-card]");
    const links = map.querySelector("[data-links]"), ring = map.querySelector("[data-mark]");
    const find = figure.querySelector("input"), size = +map.dataset.size;
    const choices = figure.querySelectorAll("[data-view]");
    const points = [], wrong = new Set(data.wrong || []), count = data.names.length;
    map.querySelectorAll("[data-i]").forEach((point) => { points[+point.dataset.i] = point; });
    let view = 0, pinned = -1, shown = -1, faded = -1;
    const place = (i) => [data.views[view].x[i], data.views[view].y[i]];
    const word = (i) => data.codes[i] < 0 ? "" : data.classes[data.codes[i]];

    const show = (i) => {
      shown = i;
      links.replaceChildren(); ring.replaceChildren(); card.replaceChildren();
      if (i < 0) {
        add(card, "p", {}, "Point at a sequence, or use the arrow keys on the map; a click or Enter keeps it.");
        return;
      }
      const [x, y] = place(i);
      for (const j of data.near[i]) {
        const [a, b] = place(j);
        add(links, "line", {x1: x, y1: y, x2: a, y2: b});
      }
      add(ring, "circle", {cx: x, cy: y, r: size + 4});
      const head = add(card, "p", {style: "margin:0 0 .3rem;overflow-wrap:anywhere"});
      add(head, "strong", {}, data.names[i]);
      const list = add(card, "div", {style: "overflow-wrap:anywhere"});
      const row = (name, value) => { add(list, "div", {}, name + ": " + value); };
      if (data.codes[i] >= 0) row("class", word(i));
      const verdict = data.codes[i] < 0 ? "" : wrong.has(i) ? " (wrong)" : " (right)";
      if (data.answers) row("answer", data.answers[i] + verdict);
      for (const [name, values] of data.facts) row(name, values[i]);
      (data.lines[i] || []).forEach((line, c) => {
        const box = add(card, "div", {style: "margin:.35rem 0 0"});
        add(box, "div", {style: "font-size:.85em;overflow-wrap:anywhere"}, data.channels[c]);
        const drawing = add(box, "svg", {viewBox: "0 0 200 44", style: "width:100%;max-width:16rem;height:auto",
                                         role: "img", "aria-label": data.channels[c] + " of " + data.names[i]});
        add(drawing, "path", {d: path(line, 200, 44), fill: "none", stroke: data.colors[c % data.colors.length],
                              "stroke-width": 1.6, "stroke-linecap": "round", "stroke-linejoin": "round"});
      });
      if (data.near[i].length) {
        add(card, "div", {style: "margin-top:.5rem"}, "Nearest:");
        const items = add(card, "ol", {style: "margin:.1rem 0;padding-left:1.6rem"});
        for (const j of data.near[i]) {
          const go = add(add(items, "li", {style: "margin:.15rem 0"}), "button", {type: "button"},
                         data.names[j] + (data.codes[j] < 0 ? "" : " (" + word(j) + ")"));
          go.addEventListener("click", () => { pinned = j; show(j); map.focus({preventScroll: true}); });
        }
      }
    };
    const move = (next) => {
      view = next;
      points.forEach((point, i) => {
        point.setAttribute("transform", "translate(" + place(i).join(" ") + ") scale(" + size + ")");
      });
      figure.querySelector("[data-note]").textContent = data.views[view].note;
      for (const one of choices) one.setAttribute("aria-pressed", +one.dataset.view === view);
      show(shown);
    };
    const fade = (code) => {
      faded = code === faded ? -1 : code;
      map.querySelectorAll("[data-class]").forEach((one) => {
        one.style.opacity = faded < 0 || +one.dataset.class === faded ? 1 : .12;
      });
      figure.querySelectorAll("[data-legend] [data-class]").forEach((one) => {
        one.setAttribute("aria-pressed", +one.dataset.class === faded);
      });
    };
    const at = (event) => {
      const box = map.getBoundingClientRect(), scale = WIDTH / box.width;
      const x = (event.clientX - box.left) * scale, y = (event.clientY - box.top) * scale;
      let best = -1, least = (14 * Math.max(1, scale)) ** 2;
      for (let i = 0; i < count; i++) {
        if (faded >= 0 && data.codes[i] !== faded) continue;
        const [a, b] = place(i), distance = (a - x) ** 2 + (b - y) ** 2;
        if (distance < least) { least = distance; best = i; }
      }
      return best;
    };
    const WIDTH = map.viewBox.baseVal.width;
    map.addEventListener("pointermove", (event) => {
      if (event.pointerType === "touch") return;
      const i = at(event), next = i < 0 ? pinned : i;
      if (next !== shown) show(next);
    });
    map.addEventListener("pointerleave", () => { if (shown !== pinned) show(pinned); });
    map.addEventListener("click", (event) => { pinned = at(event); show(pinned); });
    map.addEventListener("keydown", (event) => {
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[event.key];
      if (event.key === "Enter") { pinned = shown; return; }
      if (event.key === "Escape") { pinned = -1; show(-1); return; }
      if (!step) return;
      event.preventDefault();
      if (shown < 0) { show(0); return; }
      const [x, y] = place(shown);
      let best = -1, least = Infinity;
      for (let i = 0; i < count; i++) {
        if (i === shown || (faded >= 0 && data.codes[i] !== faded)) continue;
        const [a, b] = place(i), along = (a - x) * step[0] + (b - y) * step[1];
        const across = Math.abs((a - x) * step[1]) + Math.abs((b - y) * step[0]);
        if (along > 0 && along + 2 * across < least) { least = along + 2 * across; best = i; }
      }
      if (best >= 0) show(best);
    });
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      if (!wanted) return;
      const names = data.names.map((name) => name.toLowerCase());
      let i = names.indexOf(wanted);
      if (i < 0) i = names.findIndex((name) => name.includes(wanted));
      if (i >= 0) { pinned = i; show(i); }
    });
    for (const one of choices) one.addEventListener("click", () => move(+one.dataset.view));
    figure.querySelectorAll("[data-legend] [data-class]").forEach((one) => {
      one.addEventListener("click", () => fade(+one.dataset.class));
    });
    show(-1);
  }
})();
"""
