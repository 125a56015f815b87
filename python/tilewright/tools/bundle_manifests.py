"""What makes a bundle a package of other builds: ESP-IDF's component manager, PlatformIO, Zephyr, plain CMake."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tilewright.codegen.render import render


def manifest_files(
    name: str, version: str, build: Mapping[str, Any], processor_options: tuple[str, ...]
) -> dict[str, bytes]:
    """``idf_component.yml``, ``library.json`` with its script, ``zephyr/module.yml`` and ``CMakeLists.txt``.

    ``build`` is what ``<name>_build.json`` says; ``processor_options`` are those of its options that SDKs choose
    themselves.
    """
    code = [option for option in build["compile_options"] if option not in processor_options]
    texts = {
        "CMakeLists.txt": render(
            "bundle_CMakeLists.txt.j2",
            name=name,
            version=version,
            processor_options=processor_options,
            code_options=code,
            **{key: value for key, value in build.items() if key != "compile_options"},
        ),
        "idf_component.yml": _idf_component(name, version),
        "library.json": json.dumps(_library(name, version, code), indent=2) + "\n",
        "platformio_options.py": render(
            "bundle_platformio.py.j2",
            name=name,
            gcc_options=build["gcc_options"],
            gcc_source_options=build["gcc_source_options"],
        ),
        "zephyr/module.yml": f"name: {name}\nbuild:\n  cmake: .\n",
    }
    return {file: text.encode() for file, text in texts.items()}


def _about(name: str) -> str:
    return f"The neural network {name} as C, planned by Tilewright"


def _idf_component(name: str, version: str) -> str:
    return f'version: "{version}"\ndescription: {_about(name)}\ndependencies:\n  idf: ">=5.0"\n'


def _library(name: str, version: str, code_options: list[str]) -> dict[str, Any]:
    """PlatformIO's manifest; C11 is what its frameworks compile C as, or newer."""
    return {
        "name": name,
        "version": version,
        "description": _about(name),
        "frameworks": "*",
        "platforms": "*",
        "headers": f"{name}.h",
        "build": {
            "srcDir": ".",
            "includeDir": "include",
            "srcFilter": ["-<*>", "+<*.c>", "+<runtime/>"],
            "flags": [option for option in code_options if not option.startswith("-std=")],
            "extraScript": "platformio_options.py",
        },
    }
