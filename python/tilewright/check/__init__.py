"""The independent checker: reads a plan, and only the plan, and names the rule that broke.

It shares no code with operators, tiling, placement or schedule, expands the program on
concrete tiles and works the slow, obvious way.
"""

from __future__ import annotations

from tilewright.check.rules import Rule, Violation
from tilewright.check.soundness import check, require_sound

__all__ = ["Rule", "Violation", "check", "require_sound"]
