"""Compiled templates, kept where Python keeps compiled modules: to compile them anew takes 0.1 s of each start."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from pickle import UnpicklingError

import jinja2
from jinja2.bccache import Bucket

from tilewright.base.errors import TilewrightError
from tilewright.base.outputs import write_file


class CompiledTemplates(jinja2.BytecodeCache):
    """Files in ``__pycache__`` beside the templates, one for each; none are written where Python writes none.

    A file counts for one text of its template, one version of Jinja2 and one of Python; all others are written
    anew. Templates of one folder belong to one environment, whose settings the files do not know.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file of a template."""
        return cache_from_source(filename or name)

    def get_source_checksum(self, source: str) -> str:
        """A hash of what the compiled template depends on."""
        return super().get_source_checksum(f"{jinja2.__version__}\n{source}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read the compiled template if there is one; a file that cannot be read is none."""
        try:
            bucket.bytecode_from_string(Path(bucket.key).read_bytes())
        except (OSError, EOFError, ValueError, UnpicklingError):
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the compiled template whole, so that no other process reads half of it; none where it cannot be."""
        if sys.dont_write_bytecode:
            return
        with suppress(TilewrightError):
            write_file(Path(bucket.key), bucket.bytecode_to_string())
