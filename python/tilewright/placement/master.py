"""The choice of pools as a 0-1 problem: cheapest homes for which every clique fits."""

from __future__ import annotations

from collections.abc import Sequence

from ortools.sat.python import cp_model

from tilewright.placement.cliques import cliques
from tilewright.placement.model import Model
from tilewright.placement.objective import pool_cost

DETERMINISTIC_SECONDS = 2.0
LARGEST_WEIGHT = 2**60


class Master:
    """The 0-1 program; ``forbid`` adds a set of units that were found not to fit a pool together.

    ``proved`` tells the two meanings of ``solve() is None`` apart: no homes are left (True), or time ran out (False).
    """

    def __init__(self, model: Model, seed: int) -> None:
        """One 0-1 variable for each unit and candidate; one row for each clique of a bounded pool."""
        self.proved = True
        self._model = model
        self._seed = seed
        self._program = cp_model.CpModel()
        self._lives = {
            (unit.index, pool): self._program.new_bool_var(f"{unit.name}@{pool}")
            for unit in model.units
            for pool in unit.pools
        }
        for unit in model.units:
            self._program.add_exactly_one(self._lives[unit.index, pool] for pool in unit.pools)
        for pool, limit in enumerate(model.pools):
            if limit.size_bytes is not None:
                self._bound(pool, limit.size_bytes)
        self._program.minimize(sum(weight * self._lives[key] for key, weight in self._weights().items()))

    def _bound(self, pool: int, limit: int) -> None:
        inside = [unit.index for unit in self._model.units if pool in unit.pools]
        for clique in cliques(self._model, inside):
            sizes = [self._model.units[u].size for u in clique]
            if sum(sizes) > limit:
                terms = (size * self._lives[u, pool] for size, u in zip(sizes, clique, strict=True))
                self._program.add(sum(terms) <= limit)

    def _weights(self) -> dict[tuple[int, int], int]:
        """The weight of each unit in each candidate: cost of accesses first, then the pool's rank.

        The rank is left out where both together exceed LARGEST_WEIGHT.
        """
        costs = {key: pool_cost(self._model, self._model.units[key[0]], key[1]) for key in self._lives}
        scale = 1 + sum(rank for _, rank in costs.values())
        if sum(accesses for accesses, _ in costs.values()) * scale >= LARGEST_WEIGHT:
            return {key: accesses for key, (accesses, _) in costs.items()}
        return {key: accesses * scale + rank for key, (accesses, rank) in costs.items()}

    def forbid(self, pool: int, units: Sequence[int]) -> None:
        """Forbid that all these units live in this pool; any part of them still may."""
        self._program.add_bool_or(~self._lives[u, pool] for u in units)

    def solve(self) -> list[int] | None:
        """The cheapest pool for each unit, in the order of ``Model.units``; None if none was found (see ``proved``)."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.catch_sigint_signal = False
        solver.parameters.random_seed = self._seed % 2**31
        solver.parameters.max_deterministic_time = DETERMINISTIC_SECONDS
        status = solver.solve(self._program)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            self.proved = self.proved and status == cp_model.INFEASIBLE
            return None
        return [
            next(pool for pool in unit.pools if solver.boolean_value(self._lives[unit.index, pool]))
            for unit in self._model.units
        ]
