"""Operators of ONNX that consist of others, where ONNX defines no function body or none that can be followed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call

_COMPOSITIONS = {
    "AffineGrid": "affine_grid.affine_grid",
    "Col2Im": "column_images.col2im",
    "DFT": "fourier.dft",
    "DeformConv": "deformed.deform_conv",
    "Det": "determinant.det",
    "GridSample": "grid_sample.grid_sample",
    "RoiAlign": "deformed.roi_align",
    "STFT": "fourier.stft",
    "TfIdfVectorizer": "ngrams.tf_idf_vectorizer",
}
"""Operator to its module in this folder and its function there. Few models need one of the modules."""


def composed(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the operators that they consist of."""
    return with_steps(earlier, {operator: _imported(place) for operator, place in _COMPOSITIONS.items()})


def _imported(place: str) -> Callable[[Call, Steps], None]:
    """The function at ``<module>.<function>``, whose module is imported by the first node of the operator."""
    module, _, function = place.partition(".")

    def translate(call: Call, steps: Steps) -> None:
        getattr(import_module(f"{__package__}.{module}"), function)(call, steps)

    return translate
