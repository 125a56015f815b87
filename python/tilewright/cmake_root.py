"""The folder of the CMake files as a package, for scikit-build-core's entry point ``cmake.root``.

That folder stands inside the package in a wheel and beside it in an editable install, so the
entry point cannot name it as a module that Python finds.
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from tilewright.base import resources


def _package() -> ModuleType:
    """A package without content; ``importlib.resources.files`` gives its folder."""
    folder = resources.cmake()
    spec = spec_from_file_location(
        "tilewright.cmake_root.files", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    return module_from_spec(spec)


FILES = _package()
