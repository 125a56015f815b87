"""benchmarks/option_costs.py: the table in docs/how-to/ship-it.md is what it measures."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support.firmware import needs_arm, needs_riscv

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import option_costs

NUMBER = re.compile(r"[+-]?\d[\d,.]*\b")
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "ship-it.md"


def number(text: str) -> float:
    return float(text.replace(",", ""))


@needs_riscv
def test_a_row_is_measured_and_the_page_has_all() -> None:
    (guards,) = (item for item in option_costs.OPTIONS if (item.name, item.platform) == ("GUARDS", option_costs.RV32))
    plain, got = option_costs.measured(None), option_costs.measured(guards)
    assert got.pools > plain.pools
    assert plain.run < got.run < 1.01 * plain.run
    row = option_costs._row(guards, got, plain)
    assert f"(the pool takes {got.pools:,} instead of {plain.pools:,})" in row
    assert f"{got.run - plain.run:+,} in a run of {plain.run:,}" in row
    page = PAGE.read_text(encoding="utf-8").split("<!-- option costs -->")[1].split("<!-- end")[0]
    heads = [f"| {item.name} | {option_costs.PLACES[item.platform]} |" for item in option_costs.OPTIONS]
    assert [line.startswith(head) for line, head in zip(page.splitlines()[4:], heads, strict=True)] == [True] * len(
        heads
    )


@needs_riscv
@needs_arm
@pytest.mark.long
def test_the_page_has_what_is_measured() -> None:
    """Kernels change by a few instructions now and then; what is far off has to be written anew."""
    page = PAGE.read_text(encoding="utf-8")
    got = option_costs.written(page, "\n".join(option_costs.rows()) + "\n")
    assert NUMBER.sub("", got) == NUMBER.sub("", page)
    for new, old in zip(*(map(number, NUMBER.findall(text)) for text in (got, page)), strict=True):
        assert abs(new - old) <= max(0.02 * abs(old), 80)
    with pytest.raises(AssertionError):
        option_costs.written(page.replace("<!-- option costs -->", ""), "")
