"""Running the program on the shadow memory, what is alike in a loop once."""

from __future__ import annotations

from tilewright.check.calls import Calls, calls_by_tick
from tilewright.check.expand import Digits, Expansion, Site
from tilewright.check.flow import Machine
from tilewright.check.names import Facts
from tilewright.check.rings import Rows
from tilewright.check.rules import Log
from tilewright.check.shadow import Eyes, make_shadow
from tilewright.check.steady import run_steady


def check_flow(facts: Facts, roots: tuple[Site, ...], log: Log) -> tuple[Calls, ...]:
    """Run the program; at its end no copy is in flight and every output is whole. Returns all calls of kernels.

    Iterations that are alike are run once. Where that finds anything, all are run one after the other, so that what
    is told, and of which block, does not depend on it.
    """
    quick = Log()
    calls = _run(facts, roots, quick, is_steady=True)
    return _run(facts, roots, log, is_steady=False) if quick.violations else calls


def _run(facts: Facts, roots: tuple[Site, ...], log: Log, *, is_steady: bool) -> tuple[Calls, ...]:
    shadow = make_shadow(facts)
    machine = Machine(facts, log, shadow, Eyes(facts, shadow, log), Rows(facts, shadow, log), calls_by_tick(roots))

    def takes(site: Site, body: tuple[Site, ...], outer: Digits, instance: int) -> bool:
        return is_steady and run_steady(machine, site, body, outer, instance)

    for event in Expansion(roots, takes=takes).events():
        machine.step(event)
    machine.finish()
    return tuple(machine.calls.values())
