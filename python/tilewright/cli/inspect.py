"""``tilewright inspect``: what a model is; ``tilewright platforms``: the platforms that are shipped."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tilewright.base import resources
from tilewright.base.c_names import c_prefix
from tilewright.options import CompileOptions, build_options
from tilewright.platform import Platform, load_platform


def add_commands(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the commands."""
    inspect = commands.add_parser("inspect", parents=[common], help="interface, operators, work and memory of a model")
    inspect.add_argument("model", type=Path, help="the model file")
    inspect.add_argument(
        "--dim", action="append", default=[], metavar="SYMBOL=N", help="extent of a symbolic dimension"
    )
    inspect.add_argument("--type", action="append", default=[], metavar="TENSOR=DTYPE", help="element type of an input")
    _add_format(inspect)
    inspect.set_defaults(run=_inspect)
    platforms = commands.add_parser("platforms", parents=[common], help="the platforms that are shipped")
    _add_format(platforms)
    platforms.set_defaults(run=_platforms)


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=["text", "json"], default="text", help="for people or for programs")


def _inspect(parsed: argparse.Namespace) -> int:
    from tilewright.pipeline import model_graph, plan_model
    from tilewright.tools.inspection import UNTILED, inspection_data, inspection_of, inspection_text

    options = _options(parsed, UNTILED)
    found = inspection_of(plan_model(options), model_graph(options))
    if parsed.format == "json":
        sys.stdout.write(json.dumps(inspection_data(found), indent=1) + "\n")
    else:
        sys.stdout.write(inspection_text(found))
    return 0


def _options(parsed: argparse.Namespace, platform: str) -> CompileOptions:
    given = {"model": str(parsed.model), "platform": platform, "name": c_prefix(parsed.model.stem)}
    return build_options(("command line", {**given, "dims": parsed.dim, "types": parsed.type}))


def _platforms(parsed: argparse.Namespace) -> int:
    from tilewright.report.text import table

    shipped = [load_platform(file.stem) for file in sorted(resources.platforms().glob("*.toml"))]
    if parsed.format == "json":
        sys.stdout.write(json.dumps([_data(platform) for platform in shipped], indent=1) + "\n")
        return 0
    rows = [
        (item["name"], str(item["cores"]), ", ".join(item["kernels"]), _pools(item), item["simulator"])
        for item in map(_data, shipped)
    ]
    sys.stdout.write(table(("platform", "cores", "kernels", "pools (bytes)", "simulator"), rows, 5) + "\n")
    return 0


def _data(platform: Platform) -> dict[str, Any]:
    return {
        "name": platform.name,
        "cores": platform.core.count,
        "kernels": list(platform.target.kernels),
        "pools": {pool.name: pool.size_bytes for pool in platform.pools},
        "simulator": _simulator(platform),
    }


def _simulator(platform: Platform) -> str:
    """The program that runs firmware of the platform; "this machine" where the firmware itself runs."""
    command = platform.simulator.command[0] if platform.simulator is not None else "none"
    return "this machine" if command == "{elf}" else command


def _pools(item: dict[str, Any]) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in item["pools"].items())
