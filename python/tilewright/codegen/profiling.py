"""What a profiled model's sources print: where records are, and the layers' names."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.codegen.buffers import Storage


@dataclass(frozen=True, slots=True)
class ProfileText:
    """The address of the first record inside a layer and for a caller, and (C string, MACs) of each layer."""

    address: str
    uses_context: bool
    from_caller: str
    layers: tuple[tuple[str, int], ...]


def profile_text(storage: Storage) -> ProfileText:
    """The texts of a plan that is profiled."""
    plan = storage.plan
    assert plan.profile is not None
    pool = storage.placements[plan.profile].pool
    return ProfileText(
        address=storage.address(plan.profile),
        uses_context=storage.uses_context(plan.profile),
        from_caller=storage.pool_address(plan.profile, f"pools->{pool}"),
        layers=tuple((_string(layer.name), layer.macs) for layer in plan.layers),
    )


def _string(name: str) -> str:
    """A name inside a C string: what could end it, or a line of a log, becomes '?'."""
    plain = "".join(char if char.isprintable() and ord(char) < 128 and char not in '"\\' else "?" for char in name)
    return plain.replace("??", "? ?")
