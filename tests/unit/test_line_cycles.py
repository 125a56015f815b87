"""What the lines of a copy cost besides its bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.planned import link
from tilewright.plan.copies import line_cycles

LINK = replace(link("l2", "l1"), bytes_per_cycle=8.0, beat_bytes=8, line_cycles=0)


@pytest.mark.parametrize(
    ("lines", "size_bytes", "cycles"), [(100, 400, 50.0), (100, 800, 0.0), (100, 1200, 50.0), (1, 801, 0.875)]
)
def test_the_end_of_a_line_takes_a_whole_beat(lines: int, size_bytes: int, cycles: float) -> None:
    assert float(line_cycles(LINK, np.asarray(lines), np.asarray(size_bytes))) == cycles
    wide = replace(LINK, line_cycles=3)
    assert float(line_cycles(wide, np.asarray(lines), np.asarray(size_bytes))) == cycles + 3 * lines


def test_a_link_without_beats_pays_for_bytes_alone() -> None:
    plain = replace(LINK, beat_bytes=1)
    assert float(line_cycles(plain, np.asarray(100), np.asarray(401))) == 0.0


@pytest.mark.parametrize(
    ("lines", "line_bytes", "single_bytes"), [(100, 4, 0), (100, 6, 300), (100, 7, 525), (100, 13, 975), (1, 401, 0)]
)
def test_a_core_copies_bytes_where_it_cannot_copy_words(lines: int, line_bytes: int, single_bytes: int) -> None:
    core = replace(LINK, beat_bytes=1, byte_cycles=5)
    found = line_cycles(core, np.asarray(lines), np.asarray(lines * line_bytes))
    assert float(found) == 5 * single_bytes


@pytest.mark.parametrize(("size_bytes", "single_bytes"), [(400, 0), (402, 201), (401, 300.75)])
def test_lines_that_follow_each_other_begin_within_words(size_bytes: int, single_bytes: float) -> None:
    core = replace(LINK, beat_bytes=1, byte_cycles=2)
    assert float(line_cycles(core, np.asarray(1), np.asarray(size_bytes), one_of_many=True)) == 2 * single_bytes
    assert float(line_cycles(core, np.asarray(1), np.asarray(size_bytes))) == 0.0
