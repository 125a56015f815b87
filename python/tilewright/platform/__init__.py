"""What a chip offers to a plan: memories, links and cores, read from a TOML file."""

from __future__ import annotations

from tilewright.platform.costs import Costs, KernelCost, kernel_key
from tilewright.platform.loading import find_platform, load_platform, platform_file, platform_names
from tilewright.platform.overrides import PoolOverride, parse_pool_override, with_pool_overrides
from tilewright.platform.target import Target
from tilewright.platform.types import CoreStacks, Counter, LinkerLayout, Platform, Region, Simulator

__all__ = [
    "CoreStacks",
    "Costs",
    "Counter",
    "KernelCost",
    "LinkerLayout",
    "Platform",
    "PoolOverride",
    "Region",
    "Simulator",
    "Target",
    "find_platform",
    "kernel_key",
    "load_platform",
    "parse_pool_override",
    "platform_file",
    "platform_names",
    "with_pool_overrides",
]
