"""``tilewright allocate``: MiniMalloc's CSV in, offsets out."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from tilewright.base.errors import TilewrightError
from tilewright.placement.native import extension
from tilewright.tools.allocate import allocate, read_problem

# The example of MiniMalloc's README (google/minimalloc, Apache-2.0); its capacity there is 12.
EXAMPLE = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "problem.csv"
    path.write_text(EXAMPLE)
    return path


def test_offsets_are_written(example: Path, tmp_path: Path) -> None:
    text = io.StringIO()
    output = tmp_path / "out.csv"
    assert allocate(example, 12, output=output, stream=text) == 0
    assert "peak         12 bytes" in text.getvalue()
    assert "fits, optimal" in text.getvalue()
    rows = read_problem(output)
    assert output.read_text().startswith("id,lower,upper,size,offset\n")
    assert all(row.offset is not None and row.offset + row.size <= 12 for row in rows)
    assert allocate(output, 12, stream=io.StringIO()) == 0


@pytest.mark.skipif(extension() is None, reason="the exact search was not built")
def test_too_small_is_exit_status_three(example: Path) -> None:
    text = io.StringIO()
    assert allocate(example, 11, stream=text) == 3
    assert "12 bytes, 1 more than there are" in text.getvalue()
    assert "proved: nothing fits" in text.getvalue()


def test_greedy_does_not_prove(example: Path) -> None:
    text = io.StringIO()
    assert allocate(example, 11, algorithm="greedy_by_size", stream=text) == 3
    assert "not proved" in text.getvalue()


def test_alignment_and_given_offsets(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size,alignment,offset\na,0,2,3,1,\nb,0,2,8,8,\nc,1,3,8,1,16\n")
    text = io.StringIO()
    assert allocate(problem, output=tmp_path / "o.csv", stream=text) == 0
    offsets = {row.name: row.offset for row in read_problem(tmp_path / "o.csv")}
    assert offsets["c"] == 16
    assert offsets["b"] in (0, 8)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("id,lower,size\n", "p.csv:1"),
        ("id,lower,upper,size\na,0,x,4\n", "p.csv:2"),
        ("id,lower,upper,size\na,3,3,4\n", "p.csv:2"),
        ("id,lower,upper,size\na,0,1\n", "p.csv:2"),
        ("id,lower,upper,size\na,0,1,1\na,0,1,1\n", "p.csv"),
        ("", "p.csv:1"),
    ],
)
def test_bad_problems_are_refused_with_their_line(tmp_path: Path, text: str, place: str) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text(text)
    with pytest.raises(TilewrightError) as caught:
        allocate(problem)
    assert caught.value.code == "bad-problem"
    assert caught.value.at == (place,)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="cannot read the problem"):
        allocate(tmp_path / "none.csv")
