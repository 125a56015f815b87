"""The command line, one module for each command."""

from __future__ import annotations

from tilewright.cli.main import main

__all__ = ["main"]
