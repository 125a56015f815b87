"""Memories of a devicetree: what Zephyr leaves as ``build/zephyr/zephyr.dts``, read by the package ``devicetree``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tilewright.base.errors import bad_input
from tilewright.tools.found_memories import Memory

_RAM = ("mmio-sram", "zephyr,memory-region", "arm,dtcm", "nxp,imx-dtcm", "st,stm32-ccm", "arm,itcm", "nxp,imx-itcm")
_FLASH = ("soc-nv-flash",)
"""Values of ``compatible`` in Zephyr's bindings."""

_REGION = "zephyr,memory-region"
"""Compatible and name of a memory for which Zephyr's linker script has a region and a section."""


def devicetree_memories(path: Path) -> tuple[Memory, ...]:
    """The memories of a devicetree source without preprocessor's directives, in its order.

    Raises bad_input for a file that is no devicetree source, and where the package ``devicetree`` is not installed.
    """
    try:
        library: Any = import_module("devicetree.dtlib")
    except ImportError as error:
        what = "--from-devicetree needs the package devicetree"
        raise bad_input("no-devicetree", what, help="pip install devicetree") from error
    try:
        tree = library.DT(str(path))
        return tuple(_memories(tree))
    except (library.DTError, OSError, UnicodeDecodeError) as error:
        remedy = "Zephyr writes one that can be read as build/zephyr/zephyr.dts"
        raise bad_input("devicetree", f"the devicetree cannot be read: {error}", at=str(path), help=remedy) from error


def _memories(tree: Any) -> Iterator[Memory]:
    for node in tree.node_iter():
        kinds = node.props["compatible"].to_strings() if "compatible" in node.props else []
        flash = any(kind in _FLASH for kind in kinds)
        ram = any(kind in _RAM for kind in kinds) or _text(node, "device_type") == "memory"
        if "reg" not in node.props or not (flash or ram) or _text(node, "status") == "disabled":
            continue
        base, size = _first_region(node)
        if size:
            label = node.labels[0] if node.labels else node.name.partition("@")[0]
            # Zephyr writes the section for writable data of nodes that are compatible, and changes the name so.
            region = re.sub(r"[^A-Za-z0-9]", "_", _text(node, _REGION)) if ram and _REGION in kinds else ""
            yield Memory(label, base, size, ram, region)


def _text(node: Any, name: str) -> str:
    return str(node.props[name].to_string()) if name in node.props else ""


def _first_region(node: Any) -> tuple[int, int]:
    """Address and size of the first entry of ``reg``; cells are 32 bits, and the parent says how many each takes."""
    cells = node.props["reg"].to_nums()
    address_cells, size_cells = _cells(node.parent, "#address-cells", 2), _cells(node.parent, "#size-cells", 1)
    return _joined(cells[:address_cells]), _joined(cells[address_cells : address_cells + size_cells])


def _cells(node: Any, name: str, default: int) -> int:
    return int(node.props[name].to_num()) if name in node.props else default


def _joined(cells: list[int]) -> int:
    value = 0
    for cell in cells:
        value = value << 32 | cell
    return value
