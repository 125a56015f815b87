"""Tests that need the C++ extension."""

from __future__ import annotations

import pytest
from tilewright.placement.native import extension

needs_extension = pytest.mark.skipif(extension() is None, reason="the exact search was not built")
"""Installations without a C++ compiler lack it: greedy placement takes its place there."""
