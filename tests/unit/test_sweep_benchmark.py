"""benchmarks/sweep.py on the networks of the tests: its sizes, its verdicts, its table, and what it keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.firmware import needs_host_compiler

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

# The modules below are found by the path above, so their imports cannot stand before that line.
import sweep  # noqa: E402
from sweep_network import CLOSE, EQUAL, Network, Point, compared, sizes_down  # noqa: E402

FOUND = Network("a/b", "", (Point(0, 3, EQUAL), Point(4096, 3, EQUAL, 1), Point(100, 90, CLOSE, sums_cut=True)))


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "benchmarks" / "sweep.py", "--corpus", ROOT / "tests/firmware/models", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@needs_host_compiler
def test_a_network_down_to_its_least_l1(tmp_path: Path) -> None:
    results, page = tmp_path / "results", tmp_path / "page.md"
    words = ("--network", "deeploy_residual", "--steps", "3", "--results", results, "--markdown", page)
    done = run(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("1 networks, 3 sizes: 3 equal, 0 not; 0 networks refused\n")
    (line,) = results.read_text(encoding="utf-8").splitlines()
    points = Network.of_data({key: value for key, value in json.loads(line).items() if key in FOUND.data()}).points
    assert points[0].l1_bytes == 0
    assert points[1].l1_bytes > points[2].l1_bytes > points[3].l1_bytes
    assert points[-1].tiles > points[1].tiles >= points[0].tiles
    assert "| deeploy_residual | " in page.read_text(encoding="utf-8")
    again = run(*words)
    assert again.stdout == done.stdout
    results.write_text(line.replace('"equal"', '"OTHER OUTPUT"') + "\n", encoding="utf-8")
    assert run(*words).returncode == 1
    assert "Not equal:" in page.read_text(encoding="utf-8")


def test_sizes() -> None:
    assert sizes_down(10000, 1, 5) == (10000, 1000, 100, 10, 1)
    assert sizes_down(10, 9, 5) == (10, 9)
    assert sizes_down(8, 8, 5) == sizes_down(9, 8, 1) == (8,)


def test_verdicts() -> None:
    ones = [np.ones(3, np.float32)]
    nearly = [np.asarray([1, 1, 1.00001], np.float32)]
    assert compared(ones, ones, sums_cut=False) == EQUAL
    assert compared(nearly, ones, sums_cut=True) == CLOSE
    assert compared(nearly, ones, sums_cut=False).startswith("OTHER OUTPUT: ")
    assert compared([np.asarray([1, 1, 2], np.float32)], ones, sums_cut=True).startswith("OTHER OUTPUT: ")
    assert compared([np.asarray([1, 2])], [np.asarray([1, 3])], sums_cut=True) == "OTHER OUTPUT: 1 bytes, by up to 1"


def test_the_table() -> None:
    refused = Network("c", "unknown-operator: X", ())
    text = sweep.table([FOUND, refused])
    assert "2 sizes: 2 equal, 0 not; 1 networks refused." in text
    assert "| a/b | 4,096, 100 | 3 → 3 → 90 | 1, 0 | 2 of 2* | 0 |" in text
    assert "| c | unknown-operator: X |" in text
    wrong = replace(FOUND, points=(*FOUND.points, Point(9, 99, "FAILS: x")))
    assert wrong.wrong
    assert not FOUND.wrong
    assert not refused.wrong
    assert "- a/b, 9: FAILS: x" in sweep.table([wrong])
    untiled = Network("a/b", "", (Point(0, 0, "DEFECT: x"),))
    assert untiled.wrong
    assert "| a/b |  |  |  | 0 of 0 | 0 |" in sweep.table([untiled])


@pytest.mark.parametrize(("product", "steps", "known"), [("p", 5, 1), ("q", 5, 0), ("p", 4, 0)])
def test_results_are_for_one_product(tmp_path: Path, product: str, steps: int, known: int) -> None:
    path = tmp_path / "results"
    path.write_text(json.dumps({"product": "p", "steps": 5, **FOUND.data()}) + "\n", encoding="utf-8")
    found = sweep.read_results(path, product, steps)
    assert list(found.values()) == [FOUND] * known
    assert sweep.read_results(None, product, steps) == sweep.read_results(tmp_path / "none", product, steps) == {}
