"""Tiles of all operators chosen at once, where tiles share pools with homes that have a choice of pools.

Before:  conv1 wants 6 KB of l1 for its tiles (100 cycles) or 2 KB (120); a map of 3 KB lives in l1
         (0 more cycles) or l2 (50 more) meanwhile; l1 has 8 KB
After:   conv1 takes 2 KB, the map stays in l1: 120, since 100 + 50 is more
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.solver import bring_solver

DETERMINISTIC_SECONDS = 4.0
"""A measure of work, not of time, so that the answer does not depend on the machine."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to cut an operator: bytes of tiles and scratch by pool, and the cost that the objective minimises."""

    near_bytes: Mapping[str, int]
    cost: int


@dataclass(frozen=True, slots=True)
class Resident:
    """A buffer that lives in one of some pools while operators ``first`` to ``last`` run, both included.

    ``pools`` are (pool, cost of living there).
    """

    size_bytes: int
    pools: tuple[tuple[str, int], ...]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class JointChoice:
    """``chosen`` has the number of each operator's candidate, ``pools`` each resident's pool.

    No choice costs less than ``bound``.
    """

    chosen: tuple[int, ...]
    pools: tuple[str, ...]
    cost: int
    bound: int


def choose_jointly(
    operators: Sequence[Sequence[Candidate]],
    residents: Sequence[Resident],
    capacities: Mapping[str, int | None],
    seed: int = 0,
) -> JointChoice | None:
    """One candidate for each operator and one pool for each resident, so that all fit at every step.

    The choice is the cheapest of all if its ``cost`` equals its ``bound``, else the cheapest that was found
    within ``DETERMINISTIC_SECONDS``; None if none was found. Cost and bound include the costs of residents.
    """
    bring_solver()
    from ortools.sat.python import cp_model  # takes long to import and is rarely needed

    program = cp_model.CpModel()
    taken = [
        [program.new_bool_var(f"operator{number}.{way}") for way in range(len(ways))]
        for number, ways in enumerate(operators)
    ]
    lives = [
        {pool: program.new_bool_var(f"resident{number}@{pool}") for pool, _ in resident.pools}
        for number, resident in enumerate(residents)
    ]
    for variables in (*taken, *(list(pools.values()) for pools in lives)):
        program.add_exactly_one(variables)
    for step, ways in enumerate(operators):
        for pool, capacity in capacities.items():
            terms = [way.near_bytes.get(pool, 0) * taken[step][number] for number, way in enumerate(ways)]
            terms += [
                resident.size_bytes * lives[number][pool]
                for number, resident in enumerate(residents)
                if pool in lives[number] and resident.first <= step <= resident.last
            ]
            if capacity is not None:
                program.add(sum(terms) <= capacity)
    costs = [way.cost * taken[step][number] for step, ways in enumerate(operators) for number, way in enumerate(ways)]
    costs += [cost * lives[number][pool] for number, resident in enumerate(residents) for pool, cost in resident.pools]
    program.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False
    solver.parameters.random_seed = seed
    solver.parameters.max_deterministic_time = DETERMINISTIC_SECONDS
    if solver.solve(program) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    chosen = tuple(next(i for i, way in enumerate(ways) if solver.boolean_value(way)) for ways in taken)
    pools = tuple(next(pool for pool in own if solver.boolean_value(own[pool])) for own in lives)
    return JointChoice(chosen, pools, round(solver.objective_value), round(solver.best_objective_bound))
