"""Operators of ONNX that consist of others, where ONNX defines no function body or none that can be followed."""

from __future__ import annotations

from tilewright.importers.onnx.affine_grid import affine_grid
from tilewright.importers.onnx.column_images import col2im
from tilewright.importers.onnx.composed import Translators, with_steps
from tilewright.importers.onnx.deformed import deform_conv, roi_align
from tilewright.importers.onnx.determinant import det
from tilewright.importers.onnx.fourier import dft, stft
from tilewright.importers.onnx.grid_sample import grid_sample
from tilewright.importers.onnx.ngrams import tf_idf_vectorizer


def composed(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the operators that they consist of."""
    table = {
        "AffineGrid": affine_grid,
        "Col2Im": col2im,
        "DFT": dft,
        "DeformConv": deform_conv,
        "Det": det,
        "GridSample": grid_sample,
        "RoiAlign": roi_align,
        "STFT": stft,
        "TfIdfVectorizer": tf_idf_vectorizer,
    }
    return with_steps(earlier, table)
