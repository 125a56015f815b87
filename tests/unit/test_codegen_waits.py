"""Which waits need no code, since a later copy of the same link is waited for right behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tilewright.codegen.waits import needless_waits
from tilewright.plan import AxisRange, CopyStart, Index, Kernel, Operand, Runs, Step, Wait

INDICES = {"n": Index("n", 12, 4)}
HALF = Runs(0, 2, 2)


def start(token: str, link: str = "l2->l1", runs: Runs = HALF, first: int = 0) -> CopyStart:
    """A copy of elements [n + first, n + first + 4) of 12."""
    rectangle = (AxisRange((("n", 1),), first, first, 1, 12),)
    return CopyStart(link, token, Operand(token, rectangle), Operand(f"{token}.tile", rectangle), runs)


W, B = start("w"), start("b")
WAITS = (Wait("w", HALF), Wait("b", HALF))
KERNEL = Kernel("k", "symbol", (), (), (), (), ())


def test_the_first_of_two_waits_goes() -> None:
    assert needless_waits((W, B, *WAITS, KERNEL), INDICES) == {"w"}


def test_of_three_only_the_last_stays() -> None:
    assert needless_waits((W, B, start("c"), *WAITS, Wait("c", HALF)), INDICES) == {"w", "b"}


@pytest.mark.parametrize(
    "body",
    [
        (W, start("b", link="l1->l2"), *WAITS),
        (B, W, *WAITS),
        (W, start("b", runs=Runs(-1, 2, 2)), *WAITS),
        (W, B, Wait("w", HALF), Wait("b", Runs(0, 4, 1))),
        (W, B, Wait("w", HALF), KERNEL, Wait("b", HALF)),
        (W, start("b", first=8), *WAITS),
    ],
    ids=["other link", "started earlier", "started for another tile", "waits at other tiles", "not at once", "empty"],
)
def test_waits_that_are_needed_stay(body: tuple[Step, ...]) -> None:
    assert needless_waits(body, INDICES) == frozenset()


def test_an_empty_copy_that_nobody_waits_for_is_no_matter() -> None:
    assert needless_waits((replace(W, source=start("w", first=8).source), B, *WAITS), INDICES) == {"w"}
