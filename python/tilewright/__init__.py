"""Tilewright turns an ONNX model and a platform description into statically planned C.

``tilewright.plan(model, platform, **options)`` is the interface for Python: see ``tilewright.planned_model.plan``.
"""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

import tilewright.plan as _package

if TYPE_CHECKING:
    from tilewright.planned_model import PlannedModel


class _PlanPackage(ModuleType):
    """The package ``tilewright.plan``, called as the function of that name: a plan's classes and its maker."""

    def __call__(self, model: str | os.PathLike[str], platform: str | os.PathLike[str], **options: Any) -> PlannedModel:
        """See ``tilewright.planned_model.plan``, whose imports a program that only reads plans does not pay for."""
        from tilewright.planned_model import plan

        return plan(model, platform, **options)


_package.__class__ = _PlanPackage
