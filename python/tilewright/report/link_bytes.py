"""Bytes that layers move over each link in one inference."""

from __future__ import annotations

from tilewright.plan import Plan


def moved_by_link(plan: Plan) -> dict[str, int]:
    """Link to the bytes that layers move over it, in the plan's order of links."""
    return {link.name: sum(dict(layer.link_bytes).get(link.name, 0) for layer in plan.layers) for link in plan.links}


def compulsory_by_link(plan: Plan) -> dict[str, int]:
    """Link to the least bytes that any schedule moves over it for the layers, in the plan's order of links."""
    return {
        link.name: sum(dict(layer.compulsory_link_bytes).get(link.name, 0) for layer in plan.layers)
        for link in plan.links
    }
