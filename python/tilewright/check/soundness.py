"""The stages of the checker. A stage runs only if those that it stands on found nothing."""

from __future__ import annotations

from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.check.agreement import check_interface, check_layer_facts
from tilewright.check.coverage import check_coverage
from tilewright.check.execution import check_flow
from tilewright.check.expand import flatten, sites
from tilewright.check.fed_inputs import check_feeding
from tilewright.check.guarded import check_room
from tilewright.check.live_bytes import check_lifetimes
from tilewright.check.maps import check_maps
from tilewright.check.names import gather
from tilewright.check.placed import check_placements, check_pool_use, check_relations
from tilewright.check.profiled import check_profile
from tilewright.check.reach import check_reach, check_token_scopes
from tilewright.check.rings import check_ring_buffers, check_ring_steps
from tilewright.check.rules import Log, Rule, Violation
from tilewright.check.scratch import check_scratch
from tilewright.check.shape import check_declarations, check_extent, check_steps
from tilewright.check.sliding_windows import check_sliding
from tilewright.check.split import check_splits
from tilewright.check.state_rule import check_states
from tilewright.check.words import check_words
from tilewright.plan import Plan


def check(plan: Plan) -> list[Violation]:
    """Every rule that the plan breaks, the most basic first; empty for a sound plan."""
    log = Log()
    roots = sites(plan.program)
    check_declarations(plan, log)
    check_ring_buffers(plan, log)
    if not log.violations:
        check_steps(plan, flatten(roots), log)
        check_ring_steps(plan, flatten(roots), log)
    if not log.violations:
        check_extent(plan, log)
    if log.violations:
        return log.violations
    facts = gather(plan)
    check_placements(facts, log)
    if log.violations:
        return log.violations
    every = tuple(flatten(roots))
    check_interface(facts, log)
    check_feeding(facts, roots, log)
    check_sliding(facts, roots, log)
    check_states(facts, log)
    check_layer_facts(facts, every, log)
    check_relations(facts, log)
    check_pool_use(facts, log)
    check_room(facts, log)
    check_profile(facts, every, log)
    check_reach(facts, every, log)
    check_splits(facts, every, log)
    check_scratch(facts, every, log)
    check_words(facts, every, log)
    check_token_scopes(every, log)
    check_lifetimes(facts, roots, log)
    if not log.violations:
        calls = check_flow(facts, roots, log)
        check_maps(facts, every, calls, log)
        check_coverage(calls, log)
    return log.violations


def require_sound(plan: Plan, *, from_file: bool = False) -> None:
    """Raise a TilewrightError with code ``plan-<rule>`` if the plan breaks a rule.

    The status is BAD_INPUT for a plan that was read from a file, and INTERNAL for one that
    Tilewright just made: then the defect is its own. One that is only too large to be checked is
    NOT_SUPPORTED.
    """
    violations = check(plan)
    if not violations:
        return
    first = violations[0]
    more = f"; {len(violations) - 1} more" if len(violations) > 1 else ""
    status = ExitStatus.BAD_INPUT if from_file else ExitStatus.INTERNAL
    remedy = "generate the plan again" if from_file else "please report this; no file was written"
    if first.rule is Rule.TOO_LARGE and not from_file:
        status, remedy = ExitStatus.NOT_SUPPORTED, "a smaller model, or more memory near the core for larger tiles"
    raise TilewrightError(f"plan-{first.rule.value}", f"{first.message}{more}", (first.where,), (remedy,), status)
