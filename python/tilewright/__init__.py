"""Tilewright turns an ONNX model and a platform description into statically planned C."""

from __future__ import annotations

__version__ = "0.1.0"
