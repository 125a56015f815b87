"""Placement algorithms by name, behind one function type."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import cast

from tilewright.base.errors import bad_input
from tilewright.base.own_code import CannotImport, offered_names, own_object
from tilewright.base.solver import bring_solver
from tilewright.placement import greedy, local_search
from tilewright.placement.cliques import clique_bound
from tilewright.placement.exact_search import exact
from tilewright.placement.model import Model
from tilewright.placement.options import Algorithm, Options, Outcome


def _greedy_by_size(model: Model, options: Options) -> Outcome:
    return Outcome(greedy.greedy_by_size(model))


def _greedy_by_conflicts(model: Model, options: Options) -> Outcome:
    return Outcome(greedy.greedy_by_conflicts(model))


def _hill_climb(model: Model, options: Options) -> Outcome:
    return Outcome(local_search.hill_climb(model, _goal(model), options.nodes, options.seed))


def _tetris_random(model: Model, options: Options) -> Outcome:
    return Outcome(local_search.tetris_random(model, options.seed))


def _tetris_co_opt(model: Model, options: Options) -> Outcome:
    return Outcome(local_search.tetris_co_opt(model, _goal(model), options.nodes, options.seed))


def _cp_sat(model: Model, options: Options) -> Outcome:
    bring_solver()
    from tilewright.placement.oracle import cp_sat

    return cp_sat(model, options)


def _goal(model: Model) -> int:
    """Bytes, summed over the pools, that no placement goes below; a search that reaches them ends. 0 if unknown."""
    return clique_bound(model, range(len(model.units))) if len(model.pools) == 1 else 0


ALGORITHMS: dict[str, Algorithm] = {
    "exact": exact,
    "greedy_by_size": _greedy_by_size,
    "greedy_by_conflicts": _greedy_by_conflicts,
    "hill_climb": _hill_climb,
    "tetris_random": _tetris_random,
    "tetris_co_opt": _tetris_co_opt,
    "cp_sat": _cp_sat,
}


ENTRY_POINTS = "tilewright.algorithms"


def find_algorithm(name: str) -> Algorithm:
    """The algorithm ``name``: one of ALGORITHMS, an entry point of another package, or ``package.module:function``.

    Raises bad_input ``unknown-algorithm`` if no algorithm has this name, or if its module cannot be imported.
    """
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    offered = offered_names(ENTRY_POINTS)
    if name not in offered and not name.partition(":")[2]:
        raise bad_input(
            "unknown-algorithm",
            f"unknown placement algorithm '{name}'",
            help=f"one of {', '.join((*ALGORITHMS, *offered))}, or package.module:function",
        )
    try:
        own = own_object(name, ENTRY_POINTS)
    except CannotImport as error:
        raise bad_input("unknown-algorithm", f"placement algorithm '{name}' cannot be imported: {error}") from error
    if not callable(own):
        raise bad_input("unknown-algorithm", f"placement algorithm '{name}' is not a function")
    if not _declares_an_algorithm(own):
        what = f"placement algorithm '{name}' is no function(model, options) -> Outcome"
        raise bad_input("unknown-algorithm", what, help="docs/reference/placement.md says what an algorithm is")
    return cast("Algorithm", own)


def _declares_an_algorithm(own: Callable[..., object]) -> bool:
    """Whether a function takes ``model`` and ``options``, by these names; no other is called, such as ``os:remove``."""
    try:
        parameters = list(signature(own).parameters.values())
    except (TypeError, ValueError):
        return False
    names = [parameter.name for parameter in parameters[:2]]
    return names == ["model", "options"] and all(
        parameter.default is not Parameter.empty or parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        for parameter in parameters[2:]
    )
