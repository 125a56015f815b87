"""Placement by CP-SAT: pools and offsets in one program. An oracle for tests, not the engine."""

from __future__ import annotations

from ortools.sat.python import cp_model

from tilewright.placement.cliques import cliques
from tilewright.placement.model import Model
from tilewright.placement.objective import pool_cost
from tilewright.placement.options import Options, Outcome
from tilewright.placement.spots import Spot

DETERMINISTIC_SECONDS_PER_NODE = 20e-6


def cp_sat(model: Model, options: Options) -> Outcome:
    """Lowest cost of accesses, then lowest rank of pools, then fewest bytes: three programs, solved one by one."""
    program = _Program(model)
    answer: _Answer | None = None
    for objective in program.objectives():
        better = _solve(program, objective, options, answer)
        if better is None and answer is None:
            return Outcome([None] * len(model.units), proved=program.infeasible)
        answer = answer if better is None else better
    assert answer is not None
    spots: list[Spot | None] = list(answer)
    return Outcome(spots)


_Answer = list[Spot]


class _Program:
    """The CP-SAT program: a 0-1 variable for each unit and candidate pool, and each unit's offset.

    A unit's offset is ``residue`` plus a number of steps of ``modulus`` bytes; the number is the variable.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.program = cp_model.CpModel()
        self.infeasible = False
        horizon = max(sum(u.size + u.modulus for u in model.units), *(u.size + (u.fixed or 0) for u in model.units), 1)
        self.lives = {(u.index, p): self.program.new_bool_var("") for u in model.units for p in u.pools}
        self.steps = [self.program.new_int_var(0, horizon // u.modulus + 1, "") for u in model.units]
        self.peaks = [
            self.program.new_int_var(0, 2 * horizon if limit.size_bytes is None else limit.size_bytes, limit.name)
            for limit in model.pools
        ]
        for unit in model.units:
            self.program.add_exactly_one(self.lives[unit.index, pool] for pool in unit.pools)
            for pool in unit.pools:
                end = self.offset(unit.index) + unit.size
                self.program.add(end <= self.peaks[pool]).only_enforce_if(self.lives[unit.index, pool])
            if unit.fixed is not None:
                self.program.add(self.offset(unit.index) == unit.fixed)
        self._zones()
        self._cliques()

    def offset(self, unit: int) -> cp_model.LinearExpr:
        """The offset of a unit as an expression."""
        return self.steps[unit] * self.model.units[unit].modulus + self.model.units[unit].residue

    def _zones(self) -> None:
        """Where two neighbours live in one pool, the difference of their offsets lies in a gap between zones."""
        for u, around in enumerate(self.model.zones):
            for v, zones in around.items():
                shared = set(self.model.units[u].pools) & set(self.model.units[v].pools)
                if u >= v or not shared:
                    continue
                gaps = [self.program.new_bool_var("") for _ in range(len(zones) + 1)]
                difference = self.offset(u) - self.offset(v)
                for gap, (low, high) in enumerate(zones):
                    self.program.add(difference <= low).only_enforce_if(gaps[gap])
                    for later in gaps[gap + 1 : gap + 2]:
                        self.program.add(difference >= high).only_enforce_if(later)
                for pool in sorted(shared):
                    self.program.add_bool_or(*gaps, ~self.lives[u, pool], ~self.lives[v, pool])

    def _cliques(self) -> None:
        for pool in range(len(self.model.pools)):
            inside = [unit.index for unit in self.model.units if pool in unit.pools]
            for clique in cliques(self.model, inside):
                sizes = (self.model.units[u].size * self.lives[u, pool] for u in clique)
                self.program.add(sum(sizes) <= self.peaks[pool])

    def objectives(self) -> list[cp_model.LinearExprT]:
        """The sums to minimise, one after the other: cost of accesses, rank of pools, bytes of all pools."""
        terms: list[list[cp_model.LinearExprT]] = [[], []]
        for (u, pool), lives in self.lives.items():
            for number, weight in enumerate(pool_cost(self.model, self.model.units[u], pool)):
                terms[number].append(weight * lives)
        if len(self.model.pools) == 1:
            return [self.peaks[0]]
        return [sum(terms[0]), sum(terms[1]), sum(self.peaks)]


def _solve(
    program: _Program, objective: cp_model.LinearExprT, options: Options, hint: _Answer | None
) -> _Answer | None:
    program.program.minimize(objective)
    program.program.clear_hints()  # type: ignore[no-untyped-call]
    for unit, spot in zip(program.model.units, hint or [], strict=False):
        program.program.add_hint(program.steps[unit.index], (spot[1] - unit.residue) // unit.modulus)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.catch_sigint_signal = False
    solver.parameters.random_seed = options.seed % 2**31
    solver.parameters.max_deterministic_time = options.nodes * DETERMINISTIC_SECONDS_PER_NODE
    status = solver.solve(program.program)
    program.infeasible = status == cp_model.INFEASIBLE
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    program.program.add(objective <= round(solver.objective_value))
    return [
        (
            next(pool for pool in unit.pools if solver.boolean_value(program.lives[unit.index, pool])),
            solver.value(program.steps[unit.index]) * unit.modulus + unit.residue,
        )
        for unit in program.model.units
    ]
