"""What a plan lock says of options: those that can lead to another plan."""

from __future__ import annotations

import json
from typing import Any

from tilewright.base.settings import keys_of
from tilewright.options.compile_options import CompileOptions
from tilewright.options.declaration import option_of


def locked_options(options: CompileOptions) -> dict[str, Any]:
    """Key to value, as JSON has it, of the options that a lock records and that are not the default."""
    given = options.to_json()
    plain = type(options)(options.model, options.platform, options.name).to_json()
    keys = [key.field for key in keys_of(type(options)) if option_of(key).in_lock]
    return {key: json.loads(json.dumps(given[key])) for key in keys if given[key] != plain[key]}
