"""The text about a profile in a model's sources: the address of the records, and the layers' names."""

from __future__ import annotations

from tilewright.base.c_names import plain_text
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import Storage


@dataclass(frozen=True, slots=True)
class ProfileText:
    """C text about a profile.

    Attributes:
        address: expression of the first record's address inside a layer's function.
        uses_context: whether ``address`` depends on pointers that the caller passes.
        from_caller: expression of that address in the accessor function.
        layers: (name as the inside of a C string, MACs) of each layer.
    """

    address: str
    uses_context: bool
    from_caller: str
    layers: tuple[tuple[str, int], ...]


def profile_text(storage: Storage) -> ProfileText:
    """The texts for a plan with a profile (``plan.profile`` is not None)."""
    plan = storage.plan
    assert plan.profile is not None
    pool = storage.placements[plan.profile].pool
    return ProfileText(
        address=storage.address(plan.profile),
        uses_context=storage.uses_context(plan.profile),
        from_caller=storage.pool_address(plan.profile, f"pools->{pool}"),
        layers=tuple((plain_text(layer.label or layer.name), layer.macs) for layer in plan.layers),
    )
