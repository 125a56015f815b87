"""Pools that the user gives for constants.

Before:  l2_constants and l3 hold constants; homes = {"conv_1.weights" = "l3"}
After:   these weights live in l3, and as many of the others in l2_constants as have room there
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.options.home_text import GivenHome, given_home
from tilewright.plan import BufferKind
from tilewright.platform import Platform
from tilewright.tiling.problem import TilingProblem

HOME_OVERRIDE = "home-override"
"""The code of errors about homes that the user gives for tensors."""


def given_constants(
    problems: Sequence[Sequence[TilingProblem]], platform: Platform, given: Mapping[str, str]
) -> dict[str, str]:
    """The pools that the user gives for constants, by their names in plans. Raises bad_input ``home-override``."""
    names = {name for ways in problems for way in ways for name in constant_names(way)}
    pools: dict[str, str] = {}
    for name in (name for name in given if name in names):
        home = given_home(given[name])
        check_holders(name, home, BufferKind.CONSTANT, platform)
        if len(home.pools) > 1:
            raise home_refused(name, "a constant has one pool", "give one of them")
        pools[name] = home.pools[0]
    return pools


def constant_names(problem: TilingProblem) -> Iterable[str]:
    """The names of a layer's constants in plans."""
    return (problem.constant_name(operand) for operand in problem.operands if operand.data is not None)


def check_holders(name: str, home: GivenHome, kind: BufferKind, platform: Platform) -> None:
    """Raise bad_input for a pool that holds no buffers of a kind."""
    holders = [pool.name for pool in platform.pools if kind in pool.holds]
    for pool in home.pools:
        if pool not in holders:
            raise home_refused(name, f"no pool '{pool}' holds such tensors", f"one of {', '.join(holders)}")


def home_refused(name: str, what: str, remedy: str | tuple[str, ...]) -> TilewrightError:
    """The error for the home of a tensor or constant that cannot be."""
    return bad_input(HOME_OVERRIDE, f"a home is given for '{name}': {what}", at=f"homes.{name}", help=remedy)
