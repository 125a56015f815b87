"""The names of a program's layers, for messages of the code that runs them."""

from __future__ import annotations

from tilewright.plan import Plan
from tilewright.plan.stages import numbered_layers


def layer_names(plan: Plan) -> list[str]:
    """The label of each layer in the program's order; of one with several stages the first and the last."""
    found = []
    for item in numbered_layers(plan.program):
        facts = plan.layers[item.first : item.first + len(item.layer.stages)]
        names = [fact.label or fact.name for fact in (facts[0], facts[-1])]
        found.append(names[0] if len(facts) == 1 else f"{names[0]} to {names[1]}")
    return found
