"""Sweeps: sizes, any executor, the table, CSV and picture, and what is refused."""

from __future__ import annotations

import csv
import itertools
import pickle
import sys
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.chains import conv_chain
from tilewright import cli
from tilewright.base.errors import TilewrightError
from tilewright.cli.sweep import split_pools
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.tools.sweep import SweepPoint, sizes_between, sweep, sweep_csv


class Inline(Executor):
    """Runs at once, as any other executor might run elsewhere."""

    def submit(self, function: Any, /, *values: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(function(*values, **named))
        except TilewrightError as error:
            future.set_exception(error)
        return future


class Elsewhere(Executor):
    """Like an executor on other machines: calls and results travel as bytes, and later calls come back first."""

    def __init__(self) -> None:
        self._waiting: list[tuple[Future[Any], bytes]] = []

    def submit(self, function: Any, /, *values: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.append((future, pickle.dumps((function, values, named))))
        return future

    def work(self) -> None:
        for future, call in reversed(self._waiting):
            function, values, named = pickle.loads(call)
            try:
                future.set_result(pickle.loads(pickle.dumps(function(*values, **named))))
            except TilewrightError as error:
                future.set_exception(pickle.loads(pickle.dumps(error)))


@pytest.fixture
def options(tmp_path: Path) -> CompileOptions:
    model = tmp_path / "net.onnx"
    model.write_bytes(conv_chain())
    return CompileOptions(model, "qemu-virt-rv32", "net", pools=("l1=1@.fast", "sram=100000"))


def test_points_are_those_of_plans_of_that_size(options: CompileOptions) -> None:
    seen: list[tuple[int, int]] = []
    points = sweep(options, "l1", (64, 1200, 8000), Inline(), lambda *progress: seen.append(progress))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [point.feasible for point in points] == [False, True, True]
    assert "pool 'l1' needs" in points[0].reason
    plan = compile_model(CompileOptions(options.model, options.platform, "net", pools=("l1=1200", "sram=100000"))).plan
    assert points[1].predicted_cycles == sum(layer.predicted_cycles for layer in plan.layers)
    assert points[1].moved_bytes == sum(count for layer in plan.layers for _, count in layer.link_bytes)
    assert points[1].moved_bytes > points[2].moved_bytes == points[2].compulsory_bytes


def test_processes_give_the_same(options: CompileOptions) -> None:
    sizes = (1200, 8000)
    with ProcessPoolExecutor(2) as executor:
        assert sweep(options, "l1", sizes, executor) == sweep(options, "l1", sizes, Inline())


def test_an_executor_that_reaches_other_machines(options: CompileOptions) -> None:
    sizes, seen = (64, 1200, 8000), []
    executor = Elsewhere()
    # Somebody else works while the sweep waits.
    worker = threading.Timer(0.5, executor.work)
    worker.start()
    points = sweep(options, "l1", sizes, executor, lambda *progress: seen.append(progress))
    worker.join()
    assert points == sweep(options, "l1", sizes, Inline())
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_other_errors_are_not_taken_for_sizes(options: CompileOptions) -> None:
    with pytest.raises(TilewrightError, match="l9"):
        sweep(options, "l9", (64,), Inline())
    with ProcessPoolExecutor(1) as executor, pytest.raises(TilewrightError, match="l9"):
        sweep(options, "l9", (64,), executor)


def test_sizes() -> None:
    sizes = sizes_between(1000, 64000, 7)
    assert (sizes[0], sizes[-1], len(sizes)) == (1000, 64000, 7)
    assert all(size % 16 == 0 for size in sizes[1:-1])
    assert all(1.9 < after / before < 2.1 for before, after in itertools.pairwise(sizes))
    assert sizes_between(16, 17, 9) == (16, 17)
    for wrong in ((0, 5, 3), (5, 5, 3), (6, 5, 3), (5, 6, 1)):
        with pytest.raises(TilewrightError, match="no range"):
            sizes_between(*wrong)


@pytest.mark.parametrize("pools", [[], ["l1=3"], ["l1=1:2", "l2=3:4"], ["l1=a:3"], ["=1:2"], ["l1=1:"]])
def test_ranges(pools: list[str]) -> None:
    assert split_pools(["l1=1:22", "l2=3@.a:b"]) == ("l1", 1, 22, ["l2=3@.a:b"])
    with pytest.raises(TilewrightError):
        split_pools(pools)


def test_csv() -> None:
    points = (SweepPoint(16, False, reason="x"), SweepPoint(32, True, 30, 9, (("a->b", 4), ("b->a", 3)), 7))
    rows = list(csv.DictReader(sweep_csv(points).splitlines()))
    assert rows[0]["feasible"] == "no"
    assert rows[0]["a->b"] == ""
    assert rows[1] | {"feasible": ""} == {
        "size_bytes": "32",
        "feasible": "",
        "used_bytes": "30",
        "moved_bytes": "7",
        "compulsory_bytes": "7",
        "predicted_cycles": "9",
        "a->b": "4",
        "b->a": "3",
    }


def test_the_command(options: CompileOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["sweep", "--model", str(options.model), "--platform", options.platform, "--pool", "l1=64:8000"]
    words += ["--steps", "4", "--jobs", "1"]
    assert cli.main([*words, "--csv", str(tmp_path / "s.csv")]) == 0
    out, err = capsys.readouterr()
    assert "does not fit: pool 'l1'" in out
    assert "8,000" in out
    assert err == ""
    assert len((tmp_path / "s.csv").read_text(encoding="utf-8").splitlines()) == 5
    assert cli.main([*words, "--svg", str(tmp_path / "s.jpg")]) == 2


def test_the_picture(options: CompileOptions, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from tilewright.tools.sweep_picture import draw

    points = sweep(options, "l1", (64, 1200, 8000), Inline())
    for name in ("a.svg", "b.svg", "c.png"):
        draw(points, "l1", "net", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.tools.sweep_picture import draw

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TilewrightError, match=r"tilewright\[plot\]"):
        draw((), "l1", "net", tmp_path / "a.svg")
