"""A model with all C that it needs in one folder, for builds that use neither CMake nor SCons.

kws/kws.mk              a fragment for GNU make: builds libkws.a
kws/kws_build.json      sources, folders of headers and options, for generators of other builds
kws/kws.c, kws.h, ...   generated files
kws/CMakeLists.txt      for ESP-IDF, Zephyr and other CMake projects, with the manifests of bundle_manifests
kws/runtime/            the C files of kernels and copies that the plan names
kws/include/tilewright/ headers of the runtime
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tilewright.base.inputs import read_content
from tilewright.base.resources import runtime
from tilewright.codegen.render import render
from tilewright.tools.bundle_manifests import manifest_files

CODE_OPTIONS = ("-std=c11", "-ffp-contract=off", "-ffunction-sections", "-fdata-sections")
"""Options of every C file of a library; a test holds them equal to those of the CMake functions."""
OPTIMIZATION = "-O2"
"""Stands before GCC's options of single sources, some of which choose another level."""


def bundle_files(manifest: bytes, version: str) -> dict[str, bytes]:
    """Files to add to a model's generated ones, by path in the folder: runtime, headers and build descriptions.

    Args:
        manifest: content of the model's manifest.
        version: the version of this package, for the fragment's first line.
    """
    facts = json.loads(manifest)
    name = facts["name"]
    kernels = {f"runtime/{source}": read_content(runtime() / source) for source in facts["kernel_sources"]}
    include = runtime() / "include"
    headers = {
        f"include/{path.relative_to(include).as_posix()}": read_content(path) for path in sorted(include.rglob("*.h"))
    }
    build = _build(facts, kernels)
    fragment = render("bundle.mk.j2", name=name, version=version, **build)
    text = json.dumps(build, indent=2, sort_keys=True) + "\n"
    packages = manifest_files(name, version, build, tuple(facts["platform"]["compile_options"]))
    return {**kernels, **headers, **packages, f"{name}.mk": fragment.encode(), f"{name}_build.json": text.encode()}


def _build(facts: Mapping[str, Any], kernels: Mapping[str, bytes]) -> dict[str, Any]:
    """Sources, folders of headers and options of a build; ``kernels`` are the C files of the runtime."""
    gcc = facts["gcc_options"]
    return {
        "sources": [*facts["sources"], *kernels],
        "include_directories": [".", "include"],
        "compile_options": [*facts["platform"]["compile_options"], *CODE_OPTIONS, OPTIMIZATION],
        "gcc_options": gcc["library"],
        "gcc_source_options": {f"runtime/{source}": words for source, words in sorted(gcc["sources"].items())},
        "needs_math_library": any(b"#include <math.h>" in content for content in kernels.values()),
    }
