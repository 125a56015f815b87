"""What a model in firmware must keep, what holds it in a build, and the tests of Tilewright that show it is held."""

from __future__ import annotations

from tilewright.base.lazy_dataclass import dataclass
from tilewright.check import Rule


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of the table.

    Attributes:
        name: short and stable, for other documents to refer to.
        text: what must be so.
        rules: rules of the checker of plans that hold it.
        firmware: rules of check-elf that hold it.
        options: options of the model that hold it at run time.
        verified: whether ``tilewright verify`` holds it.
        evidence: files of the evidence that show it, empty where an option is needed.
        tests: files of Tilewright's tests; each has a deliberate failure.
    """

    name: str
    text: str
    rules: tuple[Rule, ...] = ()
    firmware: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    verified: bool = False
    evidence: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


_CHECKER, _PROGRAM = ("models/*/checker.json",), ("programs/*.json",)
_PLANS = ("tests/unit/test_check.py", "tests/property/test_mutated_plans.py")
_LINKED = ("tests/unit/test_firmware.py", "tests/unit/test_cluster_firmware.py")

REQUIREMENTS = (
    Requirement(
        "well-formed",
        "The plan is complete: names, sizes, interface and facts agree with each other.",
        rules=(
            Rule.UNKNOWN_NAME,
            Rule.DUPLICATE_NAME,
            Rule.MALFORMED,
            Rule.TOO_LARGE,
            Rule.CIRCULAR_VIEW,
            Rule.BUFFER_SIZE,
            Rule.INTERFACE,
            Rule.LAYER_FACTS,
            Rule.PROFILE,
        ),
        evidence=_CHECKER,
        tests=("tests/unit/test_check.py", "tests/unit/test_plan_json.py"),
    ),
    Requirement(
        "memory-fits",
        "Every buffer lies inside a pool that may hold it, aligned, within the pool's size.",
        rules=(
            Rule.UNPLACED,
            Rule.PLACED_TWICE,
            Rule.CALLER_BUFFER,
            Rule.POOL_CANDIDATE,
            Rule.POOL_HOLDS,
            Rule.ALIGNMENT,
            Rule.CAPACITY,
            Rule.POOL_USE,
        ),
        evidence=_CHECKER,
        tests=_PLANS,
    ),
    Requirement(
        "memory-apart",
        "No two buffers share bytes while both are needed, unless the order of reads and writes allows it.",
        rules=(
            Rule.OVERLAP,
            Rule.AT_OFFSET,
            Rule.TRAILS,
            Rule.DOUBLE_BEGIN,
            Rule.DOUBLE_END,
            Rule.NEVER_ENDED,
            Rule.OUTSIDE_LIFETIME,
        ),
        evidence=_CHECKER,
        tests=(*_PLANS, "tests/property/test_check_overlap.py"),
    ),
    Requirement(
        "computes-all",
        "Every point of every operator is computed once, from operands that are whole and current.",
        rules=(
            Rule.MAP,
            Rule.BOX,
            Rule.COVERAGE,
            Rule.WRITE_ORDER,
            Rule.SLOT_CONTENT,
            Rule.UNWRITTEN_READ,
            Rule.PARTIAL_READ,
            Rule.REDUCTION_ORDER,
            Rule.WRITTEN_TWICE,
            Rule.OUTPUT_INCOMPLETE,
        ),
        evidence=_CHECKER,
        tests=(*_PLANS, "tests/unit/test_check_coverage.py"),
    ),
    Requirement(
        "computes-right",
        "The C computes what others' code computes for the model, within a tolerance that the project names.",
        verified=True,
        evidence=("verified/*.json",),
        tests=("tests/unit/test_verify.py", "tests/property/test_random_models.py"),
    ),
    Requirement(
        "copies-in-time",
        "Copies have the right shape, and what they bring or take is not touched before they end.",
        rules=(
            Rule.RECTANGLE,
            Rule.COPY_SHAPE,
            Rule.COPY_ORIGIN,
            Rule.TOKEN_SCOPE,
            Rule.TOKEN_NOT_STARTED,
            Rule.TOKEN_REUSED,
            Rule.NEVER_AWAITED,
            Rule.END_BEFORE_WAIT,
            Rule.READ_BEFORE_WAIT,
            Rule.OVERWRITTEN_BEFORE_WAIT,
            Rule.DESTINATION_BUSY,
        ),
        evidence=_CHECKER,
        tests=(*_PLANS, "tests/unit/test_late_links.py"),
    ),
    Requirement(
        "hardware-limits",
        "Cores and links reach what they touch, with the alignment that they need; cores share calls soundly.",
        rules=(
            Rule.CORE_REACH,
            Rule.LINK_REACH,
            Rule.LINK_ALIGNMENT,
            Rule.LINK_ROUND_UP,
            Rule.FORBIDDEN_WRITE,
            Rule.SPLIT,
            Rule.SCRATCH,
            Rule.WORDS,
        ),
        evidence=_CHECKER,
        tests=_PLANS,
    ),
    Requirement(
        "streams-and-states",
        "Fed inputs, states and windows that slide are kept from call to call, and nothing else is.",
        rules=(Rule.FEED, Rule.STATE, Rule.SLIDE),
        evidence=_CHECKER,
        tests=("tests/unit/test_states.py", "tests/property/test_feeding.py", "tests/property/test_sliding.py"),
    ),
    Requirement(
        "linked-memory",
        "In the linked program every pool lies where and as large as the plan says, and overlaps nothing.",
        firmware=(
            "pool-symbol",
            "pool-size",
            "pool-alignment",
            "pool-base",
            "pool-region",
            "pool-section",
            "pool-overlap",
        ),
        evidence=_PROGRAM,
        tests=_LINKED,
    ),
    Requirement(
        "linked-constants",
        "Constants in the image are those of the plan, and all code was compiled with the plan's headers.",
        firmware=("constant", "layout"),
        evidence=_PROGRAM,
        tests=_LINKED,
    ),
    Requirement(
        "linked-code",
        "A run calls nothing that is not listed: no memory at run time, no recursion, no state outside of the pools.",
        firmware=("library", "static", "recursion", "call-by-pointer"),
        evidence=_PROGRAM,
        tests=_LINKED,
    ),
    Requirement(
        "stack",
        "A run takes no more stack than the header says.",
        firmware=("stack",),
        evidence=_PROGRAM,
        tests=_LINKED,
    ),
    Requirement(
        "budget",
        "The program takes no more RAM, flash, stack and instructions than the project allows.",
        firmware=("budget",),
        evidence=_PROGRAM,
        tests=("tests/unit/test_firmware.py", "tests/unit/test_time_bound.py"),
    ),
    Requirement(
        "stray-writes",
        "A write beside a buffer ends the run, and is named.",
        rules=(Rule.GUARDS,),
        options=("GUARDS",),
        tests=("tests/unit/test_guards.py",),
    ),
    Requirement(
        "stray-accesses",
        "An access outside of the model's memory ends the layer before it happens, and is named.",
        options=("PROTECT",),
        tests=("tests/unit/test_protect.py",),
    ),
    Requirement(
        "constants-in-the-field",
        "A flipped bit of a constant is found while the firmware runs.",
        options=("CHECK_CONSTANTS",),
        tests=("tests/unit/test_check_constants.py", "tests/unit/test_faults_benchmark.py"),
    ),
    Requirement(
        "weights-in-the-field",
        "Weights that are damaged or were made for other code are refused.",
        options=("WEIGHTS external",),
        tests=("tests/unit/test_external_weights.py",),
    ),
    Requirement(
        "repeatable",
        "The same inputs give the same bytes, and an interrupted generation leaves what was there.",
        evidence=("summary.json",),
        tests=("tests/unit/test_determinism.py", "tests/unit/test_interruptions.py", "tests/unit/test_killed.py"),
    ),
)


def requirements_page(requirements: tuple[Requirement, ...] = REQUIREMENTS) -> str:
    """The table as Markdown: requirement, what holds it, where this evidence shows it, tests of the tool."""
    lines = [
        "# Requirements",
        "",
        "Each requirement, the rules and options that hold it, the files of this folder that show it for this build, "
        "and the tests of Tilewright (in its repository) that break it on purpose and see it refused. Rules of plans "
        "are explained in docs/reference/plan.md, those of programs in docs/how-to/ship-it.md.",
        "",
        "| requirement | what must be so | held by | shown here | tests |",
        "|---|---|---|---|---|",
    ]
    for item in requirements:
        rules = [rule.value for rule in item.rules]
        held = [*rules, *(f"check-elf {name}" for name in item.firmware), *(f"option {name}" for name in item.options)]
        if item.verified:
            held.append("tilewright verify")
        cells = (item.name, item.text, ", ".join(held) or "-", ", ".join(item.evidence) or "-", ", ".join(item.tests))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
