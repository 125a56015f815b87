"""The picture of a sweep, drawn by matplotlib, which ``pip install tilewright[plot]`` installs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tilewright.base.errors import bad_input
from tilewright.base.outputs import write_file
from tilewright.tools.sweep import SweepPoint


def draw(points: Sequence[SweepPoint], pool: str, title: str, path: Path) -> None:
    """Write bytes moved and predicted cycles over the pool's size as SVG or PNG, by the suffix of ``path``.

    The same points give the same file. Raises bad_input where matplotlib is missing or for another suffix.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in ("svg", "png"):
        raise bad_input("picture-format", f"'{path.name}' is neither .svg nor .png", at=str(path))
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        remedy = "pip install 'tilewright[plot]', or --csv and a tool of your own"
        raise bad_input("no-matplotlib", "pictures need matplotlib, which is not installed", help=remedy) from error
    import io

    fitting = [point for point in points if point.feasible]
    others = [point.size_bytes for point in points if not point.feasible]
    sizes = [point.size_bytes for point in fitting]
    content = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tilewright", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 6), layout="constrained")
        moved, cycles = figure.subplots(2, 1, sharex=True)
        moved.plot(sizes, [point.moved_bytes for point in fitting], marker="o", label="moved")
        moved.plot(sizes, [point.compulsory_bytes for point in fitting], linestyle="--", label="compulsory")
        cycles.plot(sizes, [point.predicted_cycles for point in fitting], marker="o")
        for axes, label in ((moved, "bytes in one inference"), (cycles, "predicted cycles")):
            axes.set_ylabel(label)
            axes.set_xscale("log", base=2)
            axes.set_ylim(bottom=0)
            axes.grid(visible=True, alpha=0.3)
            if others:
                axes.axvspan(min(others), max(others), color="0.9", zorder=0)
        moved.set_title(title)
        moved.legend()
        cycles.set_xlabel(f"bytes of {pool}" + (" (grey: does not fit)" if others else ""))
        figure.savefig(content, format=suffix, metadata={"Date": None} if suffix == "svg" else {"Software": None})
    write_file(path, content.getvalue())
