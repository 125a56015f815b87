#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/explanation as SVG; --check only says which are out of date."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from written_files import ROOT, exit_status

FOLDER = ROOT / "docs" / "explanation" / "pictures"
INK, PALE, BLUE, ORANGE, GREEN, RED = "#24292f", "#d0d7de", "#9ecbff", "#ffcb8b", "#a7e3b0", "#cf222e"
FONT = "font-family='system-ui, sans-serif'"


@dataclass(slots=True)
class Picture:
    """An SVG in the making; lengths are pixels, y grows downwards."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(
        self, x: float, y: float, width: float, height: float, fill: str, text: str = "", dash: bool = False
    ) -> None:
        """A rectangle with a text in its middle."""
        style = " stroke-dasharray='5 4'" if dash else ""
        place = f"x='{x:g}' y='{y:g}' width='{width:g}' height='{height:g}'"
        self.parts.append(f"<rect {place} rx='3' fill='{fill}' stroke='{INK}' stroke-width='1'{style}/>")
        if text:
            self.text(x + width / 2, y + height / 2 + 4, text, "middle")

    def text(self, x: float, y: float, text: str, anchor: str = "start", colour: str = INK) -> None:
        """A line of text; y is its base line."""
        style = f"{FONT} font-size='13' text-anchor='{anchor}' fill='{colour}'"
        self.parts.append(f"<text x='{x:g}' y='{y:g}' {style}>{escape(text)}</text>")

    def line(self, *points: tuple[float, float], colour: str = INK, arrow: bool = False, dash: bool = False) -> None:
        """A line through points, with an arrow at its end if asked for."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        style = " stroke-dasharray='6 4'" if dash else ""
        end = " marker-end='url(#arrow)'" if arrow else ""
        self.parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.5'{style}{end}/>")

    def svg(self) -> str:
        """The content of the SVG file."""
        size = f"width='{self.width}' height='{self.height}' viewBox='0 0 {self.width} {self.height}'"
        marker = (
            "<defs><marker id='arrow' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='8' markerHeight='8' "
            f"orient='auto'><path d='M0 0L8 4L0 8z' fill='{INK}'/></marker></defs>"
        )
        head = f"<svg xmlns='http://www.w3.org/2000/svg' {size} role='img'><title>{escape(self.title)}</title>{marker}"
        paper = f"<rect width='{self.width}' height='{self.height}' fill='#ffffff'/>"
        return "\n".join([head, paper, *self.parts, "</svg>\n"])


def tile_and_halo() -> Picture:
    """A 3x3 convolution over 12x8 elements in tiles of 4x4: what one output tile reads."""
    picture = Picture(700, 290, "An output tile and the input that it reads")
    cell, rows, columns = 22, 8, 12
    for left, name in ((30, "input x"), (400, "output y")):
        picture.text(left, 30, name)
        for row in range(rows):
            for column in range(columns):
                picture.box(left + column * cell, 45 + row * cell, cell, cell, "#f6f8fa")
    for row in (0, 4):
        for column in (0, 4, 8):
            picture.box(400 + column * cell, 45 + row * cell, 4 * cell, 4 * cell, "none")
    picture.box(400 + 4 * cell, 45, 4 * cell, 4 * cell, BLUE, "tile")
    picture.box(30 + 3 * cell, 45, 6 * cell, 5 * cell, ORANGE)
    picture.box(30 + 4 * cell, 45, 4 * cell, 4 * cell, BLUE)
    picture.line((30 + 9 * cell + 4, 90), (400 + 4 * cell - 4, 90), arrow=True)
    picture.text(30, 250, "Orange: the halo of a 3x3 window, one element on each side.")
    picture.text(30, 272, "Above the tensor there is nothing to read: that is padding, and the tile is smaller there.")
    return picture


def slots() -> Picture:
    """Loads, kernels and stores of four tiles with one slot and with two."""
    picture = Picture(700, 330, "One slot and two slots for each operand")
    for top, title, starts in (
        (40, "one slot: transfers and kernels take turns", [(t * 130, t * 130 + 50, t * 130 + 100) for t in range(4)]),
        (
            190,
            "two slots: the next tile comes while this one is computed",
            [(0, 50, 100), (50, 110, 160), (110, 170, 220), (170, 230, 280)],
        ),
    ):
        picture.text(30, top - 12, title)
        for row, name in enumerate(("load", "kernel", "store")):
            picture.text(30, top + 22 + row * 32, name)
            picture.line((90, top + 30 + row * 32), (670, top + 30 + row * 32), colour=PALE)
        for tile, (load, kernel, store) in enumerate(starts):
            picture.box(90 + load, top + 4, 50, 24, ORANGE, str(tile))
            picture.box(90 + kernel, top + 36, 50, 24, BLUE, str(tile))
            picture.box(90 + store, top + 68, 30, 24, GREEN, str(tile))
    picture.text(30, 318, "time goes to the right; numbers are tiles")
    return picture


BUFFERS = (
    ("conv1 out", 0, 2, 0, 60, BLUE),
    ("conv2 out", 1, 4, 60, 40, ORANGE),
    ("pool", 2, 3, 0, 30, GREEN),
    ("conv3 out", 3, 5, 0, 60, BLUE),
    ("sum", 4, 6, 60, 60, ORANGE),
)
"""Name, first and last step (half-open), offset and size in kilobytes, colour."""


def memory_map() -> Picture:
    """Buffers over steps and addresses, with capacity and lower bound."""
    picture = Picture(700, 330, "Buffers over steps and addresses")
    left, bottom, step, scale = 90, 280, 80, 1.6
    bound = max(sum(size for _, a, b, _, size, _ in BUFFERS if a <= t < b) for t in range(6))
    for t in range(7):
        picture.line((left + t * step, bottom), (left + t * step, 40), colour=PALE)
        if t < 6:
            picture.text(left + t * step + step / 2, bottom + 18, f"step {t}", "middle")
    for name, first, last, offset, size, colour in BUFFERS:
        top = bottom - (offset + size) * scale
        picture.box(left + first * step, top, (last - first) * step, size * scale, colour, f"{name}, {size} KB")
    for kilobytes, name, colour in (
        (bound, f"bound {bound} KB: as much is alive in step 4", INK),
        (140, "capacity 140 KB", RED),
    ):
        y = bottom - kilobytes * scale
        picture.line((left, y), (left + 6 * step, y), colour=colour, dash=True)
        picture.text(left + 4, y - 5, name, colour=colour)
    picture.line((left, bottom), (left, 40), arrow=True)
    picture.text(12, 50, "address")
    picture.text(left, 320, "No placement of these buffers, in this order, needs less than 120 KB.")
    return picture


def planning() -> Picture:
    """The stages of planning, and the way back."""
    picture = Picture(700, 220, "How a plan is made")
    stages = ["graph", "order", "homes", "tiles", "program", "lifetimes", "addresses"]
    for number, name in enumerate(stages):
        x = 15 + number * 97
        picture.box(x, 70, 82, 44, GREEN if name == "graph" else BLUE, name)
        if number:
            picture.line((x - 15, 92), (x - 1, 92), arrow=True)
    picture.line((638, 70), (638, 36), (347, 36), (347, 69), arrow=True, dash=True)
    picture.text(492, 28, "does not fit: less room for the layer at the peak", "middle")
    picture.line((638, 114), (638, 160), arrow=True)
    picture.box(597, 161, 82, 44, ORANGE, "checker")
    picture.line((597, 183), (500, 183), arrow=True)
    picture.box(398, 161, 101, 44, GREEN, "plan.json")
    picture.line((398, 183), (301, 183), arrow=True)
    picture.box(159, 161, 141, 44, GREEN, "C, report, lock")
    return picture


ROWS, MADE, KEPT, GONE = 12, BLUE, GREEN, "#ffffff"


def _rows(picture: Picture, x: float, name: str, colours: list[str]) -> None:
    """A tensor's rows, one below the other; rows that are not in memory are dashed."""
    picture.text(x + 30, 62, name, "middle")
    for row, colour in enumerate(colours):
        picture.box(x, 70 + row * 16, 60, 16, colour or GONE, dash=not colour)


def _ring(newest: int, rows: int, count: int = ROWS) -> list[str]:
    """The rows of a ring when its ``newest`` row was just made."""
    return [MADE if row == newest else KEPT if newest - rows < row < newest else "" for row in range(count)]


def _moments(title: str, *, fed: bool) -> Picture:
    """Two convolutions 3x3, the second with strides 2, at three iterations: which rows are in memory."""
    picture = Picture(720, 330, title)
    for number, time in enumerate((1, 4, 7)):
        left = 20 + number * 238
        picture.text(left + 100, 26, f"iteration {time}", "middle")
        newest = time - 1 if fed else time
        _rows(picture, left, "x", _ring(time, 3) if fed else [KEPT] * ROWS)
        _rows(picture, left + 75, "a", _ring(newest, 3))
        made = (newest - 1) // 2
        _rows(
            picture,
            left + 150,
            "y",
            [(MADE if row == made and newest % 2 else KEPT) if row <= made else "" for row in range(6)],
        )
    return picture


def group() -> Picture:
    """A group: x is the caller's, a is a ring of three rows, y is a home."""
    picture = _moments("A group of two convolutions at three moments", fed=False)
    picture.text(20, 290, "Blue: made at this iteration. Green: in memory. Dashed: not yet, or not any more.")
    picture.text(20, 312, "Of a, never more than three rows exist; x and y are whole, as their neighbours need them.")
    return picture


def fed() -> Picture:
    """The group of ``group``, with x fed row by row."""
    picture = _moments("The same group with a fed input at three moments", fed=True)
    picture.text(20, 290, "At each iteration the caller gives a row of x; the group works one iteration behind it.")
    picture.text(20, 312, "Of x too, never more than three rows exist.")
    return picture


def _grid(picture: Picture, place: tuple[float, float], name: str, rows: int, colours: list[str]) -> None:
    """Some rows of a tensor of so many columns; columns that are not in memory are dashed."""
    x, y = place
    picture.text(x, y - 8, name)
    for row in range(rows):
        for column, colour in enumerate(colours):
            picture.box(x + column * 20, y + row * 20, 20, 20, colour or GONE, dash=not colour)


def strips() -> Picture:
    """Two convolutions 3x3 on 12 columns, in two strips of columns."""
    picture = Picture(720, 380, "A group of two convolutions in two strips of columns")
    columns = range(12)
    for number in (0, 1):
        left, first, last = 40 + number * 360, 6 * number, 6 * number + 6
        picture.text(left + 120, 26, f"strip {number}", "middle")
        needed = range(max(0, first - 2), min(12, last + 2))
        read = [(KEPT if first <= column < last else ORANGE) if column in needed else "#f6f8fa" for column in columns]
        _grid(picture, (left, 62), "x, whole: the strip reads", 4, read)
        inner = range(max(0, first - 1), min(12, last + 1))
        ring = [(KEPT if first <= column < last else ORANGE) if column in inner else "" for column in columns]
        _grid(picture, (left, 178), "a, a ring of three rows", 3, ring)
        made = [MADE if first <= column < last else KEPT if column < first else "" for column in columns]
        _grid(picture, (left, 274), "y", 2, made)
    picture.text(
        40, 342, "Blue: what the strip makes. Green: in memory. Orange: the halo, which both strips read, and of a"
    )
    picture.text(40, 362, "compute. Dashed: not in memory for the strip's sake, though y as a whole has its place.")
    return picture


PICTURES = {
    "tile-and-halo": tile_and_halo,
    "slots": slots,
    "memory-map": memory_map,
    "planning": planning,
    "group": group,
    "fed": fed,
    "strips": strips,
}


def main() -> int:
    """Write the pictures, or compare them."""
    return exit_status(__doc__ or "", lambda: {FOLDER / f"{name}.svg": draw().svg() for name, draw in PICTURES.items()})


if __name__ == "__main__":
    sys.exit(main())
