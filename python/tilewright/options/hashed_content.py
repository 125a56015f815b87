"""What fingerprints and locks know of an option: its value, and of a file the hash of what is in it."""

from __future__ import annotations

from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilewright.base.inputs import read_content


def content_of(value: Any, file_suffix: str | None) -> Any:
    """A value as JSON; a text that ends in ``file_suffix`` is a file and becomes the SHA-256 of its content."""
    if isinstance(value, Enum):
        return value.value
    if file_suffix is None:
        return value
    if isinstance(value, tuple):
        return [content_of(item, file_suffix) for item in value]
    if value is None:
        return ""
    return sha256(read_content(Path(value))).hexdigest() if str(value).endswith(file_suffix) else value
