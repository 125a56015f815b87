"""``tilewright explore``: points, rows, executors that break, and going on after an end."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.cli.main import main
from tilewright.tools.study import StudyPoint, points_of, read_study
from tilewright.tools.study_page import front, study_page
from tilewright.tools.study_plans import COLUMNS, PointRow, explore, measured
from tilewright.tools.study_rows import add_row, arriving, in_order, known_rows, write_rows
from tilewright.tools.study_runs import run_point

ROOT = Path(__file__).parents[2]
STUDY = """
models = ["net.onnx"]
platforms = ["qemu-virt-rv32", "qemu-virt-rv32-single"]

[pools]
l1 = [64, 4096, 8192]

[options]
effort = "fast"

[vary]
buffering = ["single", "double"]
"""


class Inline(Executor):
    """Runs at once; breaks after so many points, as a process pool does whose process is killed."""

    calls = 0

    def __init__(self, breaks_after: int = 1000) -> None:
        self.left = breaks_after

    def submit(self, function: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.left -= 1
        if self.left < 0:
            future.set_exception(BrokenExecutor("a process ended"))
        else:
            Inline.calls += 1
            future.set_result(function(*values, **named))
        return future


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "net.onnx").write_bytes(conv_chain())
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def points(study: Path) -> tuple[StudyPoint, ...]:
    return points_of(read_study(study), study.parent)


def test_points_are_all_combinations(study: Path) -> None:
    found = points(study)
    assert len(found) == 3 * 2 + 2, "the second platform has no l1"
    assert len({point.fingerprint for point in found}) == len(found)
    assert {point.options.effort.value for point in found} == {"fast"}
    assert found == points(study)


def test_what_decides_a_plan_changes_its_fingerprint(study: Path) -> None:
    before = points(study)[0]
    study.write_text(STUDY.replace('"fast"', '"normal"'), encoding="utf-8")
    assert points(study)[0].fingerprint != before.fingerprint
    study.write_text(STUDY, encoding="utf-8")
    (study.parent / "net.onnx").write_bytes(conv_chain() + b"\x72\x00")
    assert points(study)[0].fingerprint != before.fingerprint


def test_a_broken_executor_loses_no_point_and_repeats_none(study: Path) -> None:
    Inline.calls = 0
    executors = iter((Inline(breaks_after=3), Inline(breaks_after=2), Inline()))
    rows = list(explore(points(study), lambda: next(executors)))
    assert sorted(row.fingerprint for row in rows) == sorted(point.fingerprint for point in points(study))
    assert Inline.calls == len(rows)
    with pytest.raises(TilewrightError, match="executor broke"):
        list(explore(points(study), lambda: Inline(breaks_after=0)))


def test_a_killed_process_loses_no_point(study: Path) -> None:
    started: list[ProcessPoolExecutor] = []

    def start() -> Executor:
        started.append(ProcessPoolExecutor(1))
        return started[-1]

    rows = []
    for row in explore(points(study), start):
        if not rows:
            os.kill(next(iter(started[0]._processes)), signal.SIGKILL)
        rows.append(row)
    assert len({row.fingerprint for row in rows}) == len(rows) == len(points(study))


def test_points_without_a_plan_are_rows_with_their_reason(study: Path) -> None:
    by_pool = {(point.pools, point.varied): measured(point) for point in points(study)}
    small = by_pool[(("l1", 64),), (("buffering", "single"),)]
    assert (small.status, small.ram_bytes) == ("does not fit", 0)
    assert "l1" in small.reason
    (study.parent / "net.onnx").write_bytes(b"no model")
    assert measured(points(study)[0]).status == "refused"


def test_the_table_goes_on_from_where_it_ended(study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, page = tmp_path / "points.csv", tmp_path / "page.html"
    command = ["explore", str(study), "--output", str(table), "--executor", f"{__name__}:Inline"]
    Inline.calls = 0
    assert main([*command, "--page", str(page)]) == 0
    whole, planned = table.read_bytes(), Inline.calls
    assert "8 points: " in capsys.readouterr().out
    lines = whole.splitlines(keepends=True)
    table.write_bytes(b"".join(lines[:4]) + lines[4][:40])
    assert main(command) == 0
    assert table.read_bytes() == whole
    assert Inline.calls == planned + 5
    assert "3 were known" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "net.onnx" in text
    assert "does not fit" in text
    with table.open(newline="", encoding="utf-8") as file:
        cycles = [int(row["predicted_cycles"]) for row in csv.DictReader(file) if row["status"] == "planned"]
    assert min(cycles) > 0


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("l1 =", "l2 =", "unknown-pool"),
        ("[64, 4096, 8192]", "4096", "study-value"),
        ("models", "model", "study-key"),
        ("buffering", "bufering", "unknown-option"),
        ('effort = "fast"', 'buffering = "double"', "study-value"),
        ("effort =", "name =", "study-value"),
        ("net.onnx", "other.onnx", "study-file"),
    ],
)
def test_mistakes_in_a_study_are_told(study: Path, old: str, new: str, code: str) -> None:
    study.write_text(STUDY.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TilewrightError) as told:
        points(study)
    assert told.value.code == code


@pytest.mark.parametrize("name", ["nowhere:made", ":made", "json:nothing", "json:dumps", "builtins:list"])
def test_what_gives_no_executor_is_told(study: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(study), "--output", str(study.parent / "table.csv"), "--executor", name]) == 2
    assert "error[unknown-executor]" in capsys.readouterr().err


def test_another_file_is_not_overwritten(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = study.parent / "other.csv"
    other.write_text("name,price\nbread,3\n", encoding="utf-8")
    assert main(["explore", str(study), "--output", str(other)]) == 2
    assert other.read_text(encoding="utf-8") == "name,price\nbread,3\n"
    assert "study-table" in capsys.readouterr().err


HOLD = """
import sys
from pathlib import Path
from tilewright.tools.study_lock import locked_table
with locked_table(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("is_killed", [False, True])
def test_two_runs_that_write_one_table_are_refused(
    is_killed: bool, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = study.parent / "points.csv"
    command = ["explore", str(study), "--output", str(table), "--jobs", "1"]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(table)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert main(command) == 2
        told = capsys.readouterr().err
        assert "error[study-busy]: another run writes this table" in told
        assert "another --output" in told
        assert not table.exists()
        if is_killed:
            other.kill()
        other.communicate("")
    assert main(command) == 0
    assert table.exists()
    assert not table.with_name("points.csv.lock").exists()


def test_the_front_is_what_nothing_beats() -> None:
    def row(ram: int, cycles: int) -> PointRow:
        return PointRow(f"{ram}-{cycles}", "m", "p", "", "", "planned", ram_bytes=ram, predicted_cycles=cycles)

    rows = [row(10, 9), row(20, 5), row(20, 6), row(30, 5), row(40, 1)]
    assert [(item.ram_bytes, item.predicted_cycles) for item in front(rows)] == [(10, 9), (20, 5), (40, 1)]
    page = study_page("s", rows)
    assert page.count('class="front"') == 3
    assert "as good in bytes and cycles." in page
    with_energy = [replace(item, energy_picojoules=energy) for item, energy in zip(rows, (9, 9, 8, 9, 9), strict=True)]
    assert [(item.ram_bytes, item.predicted_cycles) for item in front(with_energy)] == [
        (10, 9),
        (20, 5),
        (20, 6),
        (40, 1),
    ]
    assert "as good in bytes, cycles and energy." in study_page("s", with_energy)
    unknown = replace(with_energy[2], energy_picojoules=0)
    assert front([*with_energy[:2], unknown]) == tuple(with_energy[:2]), "what is not known is not the least"


def test_energy_is_counted_from_the_platform_file(study: Path) -> None:
    text = (ROOT / "platforms" / "qemu-virt-rv32.toml").read_text(encoding="utf-8")
    energy = '\n[energy]\ncycle_picojoules = 10\nbyte_picojoules = { "sram->l1" = 2.5 }\n'
    (study.parent / "chip.toml").write_text(text + energy, encoding="utf-8")
    study.write_text(STUDY.replace('"qemu-virt-rv32"', '"chip.toml"').replace("[64, 4096, 8192]", "[8192]"))
    row = measured(points(study)[0])
    assert row.energy_picojoules > 10 * row.predicted_cycles
    broken = text + energy.replace("sram->l1", "sram->l3")
    (study.parent / "chip.toml").write_text(broken, encoding="utf-8")
    with pytest.raises(TilewrightError, match="no link 'sram->l3'"):
        points(study)


def test_rows_are_read_as_they_were_written(tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    rows = {name: PointRow(name, 'a "b", c', "p", "", "", "refused", reason="two\nlines") for name in ("a", "b")}
    write_rows(table, [rows["b"]])
    add_row(table, rows["a"])
    assert known_rows(table) == rows
    assert in_order(["a"], rows) == (rows["a"], rows["b"])


def test_a_table_in_parquet_goes_on_from_where_it_ended(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = study.parent / "points.parquet"
    command = ["explore", str(study), "--output", str(table), "--executor", f"{__name__}:Inline"]
    assert main(command) == 0
    whole, rows = table.read_bytes(), known_rows(table)
    assert len(rows) == 8
    assert rows == {row.fingerprint: row for row in map(measured, points(study))}
    write_rows(table, list(rows.values())[:2])
    for row in list(rows.values())[2:4]:
        add_row(arriving(table), row)
    begun = ",".join(COLUMNS) + "\n"
    arriving(table).write_text(begun + arriving(table).read_text(encoding="utf-8"), encoding="utf-8")
    assert main(command) == 0
    assert table.read_bytes() == whole
    assert "4 were known" in capsys.readouterr().out
    assert not arriving(table).exists()
    table.write_bytes(b"PAR1 no more")
    assert main(command) == 2
    assert "study-table" in capsys.readouterr().err


def test_parquet_without_pyarrow_is_told(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TilewrightError, match=r"needs pyarrow.*\n.*tilewright\[parquet\]") as told:
        known_rows(study.parent / "points.parquet")
    assert told.value.code == "no-pyarrow"


def test_points_are_built_and_run_on_request(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One program for this machine; the other platform has no simulator, and its row says so."""
    single = (ROOT / "platforms" / "qemu-virt-rv32-single.toml").read_text(encoding="utf-8")
    (study.parent / "chip.toml").write_text(single[: single.index("[simulator]")], encoding="utf-8")
    study.write_text('models = ["net.onnx"]\nplatforms = ["host", "chip.toml"]\n', encoding="utf-8")
    table, page = study.parent / "points.csv", study.parent / "page.html"
    command = ["explore", str(study), "--output", str(table), "--executor", f"{__name__}:Inline", "--page", str(page)]
    assert main([*command, "--run", "all"]) == 0
    host, chip = known_rows(table).values()
    assert host.measured > 0
    assert (host.counter, host.reason) == ("nanoseconds", "")
    assert (chip.status, chip.measured) == ("planned", 0)
    assert "has no simulator" in chip.reason
    assert capsys.readouterr().out.endswith("; 1 run, 1 could not be run (see reason)\n")
    assert "nanoseconds" in page.read_text(encoding="utf-8")
    Inline.calls = 0
    assert main([*command, "--run", "front"]) == 0
    assert Inline.calls <= 1, "what was run is not run again"


def test_what_cannot_be_run_is_told(study: Path) -> None:
    options = replace(points(study)[0].options, io_in_pools=True)
    with pytest.raises(TilewrightError, match="not run: IO_IN_POOLS"):
        run_point(options)


@pytest.mark.skipif(find_spec("distributed") is None, reason="needs the package distributed (Dask)")
def test_a_dask_cluster_loses_a_worker_and_no_point(study: Path, tmp_path: Path) -> None:
    import distributed

    with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
        killer = threading.Thread(target=_kill_later, args=(pids[0],))
        killer.start()
        table = tmp_path / "points.csv"
        assert main(["explore", str(study), "--output", str(table), "--scheduler", cluster.scheduler_address]) == 0
        killer.join()
    rows = known_rows(table)
    assert sorted(rows) == sorted(point.fingerprint for point in points(study))
    assert {row.status for row in rows.values()} == {"planned", "does not fit"}
    assert len(table.read_text(encoding="utf-8").splitlines()) == len(rows) + 1


def _kill_later(process: int) -> None:
    time.sleep(1)
    os.kill(process, signal.SIGKILL)
