"""benchmarks/chip_study.py: its points, what it makes of them, and the page in docs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tilewright.tools.study import points_of, read_study
from tilewright.tools.study_plans import PointRow
from tilewright.tools.study_rows import write_rows

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

# chip_study is found by the path above, so its import cannot stand before that line.
import chip_study  # noqa: E402
from chip_study import DMA, L1, L2, WAITS, Choice, Point  # noqa: E402


def test_five_hundred_points_of_twelve_networks(tmp_path: Path) -> None:
    study = read_study(chip_study.write_study(tmp_path))
    assert len(study.models) == 12
    assert len(points_of(study, tmp_path)) == 12 * len(L1) * len(L2) * 2 >= 500


def test_rows_of_other_studies_are_left_out(tmp_path: Path) -> None:
    table = tmp_path / "points.csv"
    rows = [PointRow(name, "m", "dma.toml", "l1=4 l2=8", "", "planned", predicted_cycles=9) for name in ("a", "b")]
    write_rows(table, rows)
    assert chip_study.read_points(table, {"a"}) == [Point("m", "dma", 4, 8, 9)]


def made() -> list[Point]:
    """Two networks: one takes 200 cycles in the least l1 and 100 in all others; the other does not fit the least l1."""
    return [
        Point(model, platform, l1, l2, cycles if fits else None)
        for platform in (WAITS, DMA)
        for l1 in L1
        for l2 in L2
        for model, cycles, fits in (
            ("small", 200 if l1 == L1[0] else 100, True),
            ("large", 1050 if platform == WAITS else 1000, l1 > L1[0]),
        )
    ]


def test_chips_are_compared_with_each_networks_fastest_point() -> None:
    found = list(chip_study.choices(made()))
    assert len(found) == len(L1) * len(L2) * 2
    assert found[0] == Choice(WAITS, L1[0], L2[0], 1, pytest.approx(2.0), 2.0)
    waits = next(item for item in found if item.l1 == L1[1])
    assert (waits.fitting, waits.worst) == (2, 1.05)
    assert waits.mean == pytest.approx(1.05**0.5)
    assert chip_study.smallest(found, 2, 1.01) == Choice(DMA, L1[1], L2[0], 2, 1.0, 1.0)
    assert chip_study.smallest(found, 2, 1.05) == waits
    assert chip_study.smallest(found, 3, 9.0) is None


def test_the_tables_say_what_does_not_fit() -> None:
    points = made()
    text = chip_study.tables(points, list(chip_study.choices(points)))
    assert f"| {L1[0]:,} | 2.000 (2.000), 1 fit |" in text
    assert f"| 1 % | {L1[1]:,} | {L2[0]:,} | a DMA |" in text
    assert b"<svg" in chip_study.draw(list(chip_study.choices(points)), 2)


def test_the_page_has_every_chip_of_the_study() -> None:
    page = (ROOT / "docs" / "explanation" / "chip-study.md").read_text(encoding="utf-8")
    text = page.split("<!-- chip study -->\n")[1].split("<!-- end of chip study -->")[0]
    assert chip_study.written(page, text) == page
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith(tuple(f"| {size:,} |" for size in L1))]
    assert len(rows) == 2 * len(L1)
    assert all(len(row) == 1 + len(L2) for row in rows)
    assert text.startswith(f"{12 * 2 * len(L1) * len(L2)} points of 12 networks;")
    assert (ROOT / "docs" / "images" / "chip-study.svg").is_file()
    with pytest.raises(AssertionError):
        chip_study.written(page.replace("<!-- chip study -->", ""), text)
