"""The manifest: the facts about generated files that CMake needs, so that it reads neither C nor the plan."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilewright.base.inputs import read_content
from tilewright.base.lazy_dataclass import dataclass
from tilewright.options import CompileOptions
from tilewright.plan import Plan
from tilewright.platform import load_platform, platform_file

MANIFEST_FORMAT = 1


@dataclass(frozen=True, slots=True)
class PlatformFacts:
    """The facts of a platform file that a build needs.

    Attributes:
        name: the platform's name.
        compile_options: options of compiler and linker that fix the ABI.
        port: folder below runtime/ports, or None.
        simulator: programs that must be installed, else the first word of the simulator's command;
            empty if the platform has no simulator.
        sha256: SHA-256 of the platform file.
        counts_stacks: whether plans say what kernels take of the cores' stacks.
    """

    name: str
    compile_options: tuple[str, ...]
    port: str | None
    simulator: tuple[str, ...]
    sha256: str
    counts_stacks: bool = False

    def to_json(self) -> dict[str, Any]:
        """The facts as CMake reads them."""
        return {
            "name": self.name,
            "compile_options": list(self.compile_options),
            "port": self.port or "",
            "simulator": list(self.simulator),
        }


def platform_facts(platform: str) -> PlatformFacts:
    """The facts of a platform, given by its name or its file. Raises bad_input."""
    loaded = load_platform(platform)
    return PlatformFacts(
        name=loaded.name,
        compile_options=loaded.target.compile_options,
        port=loaded.target.port,
        simulator=(loaded.simulator.programs or loaded.simulator.command[:1]) if loaded.simulator else (),
        sha256=file_sha256(platform_file(platform)),
        counts_stacks=loaded.core_stacks is not None,
    )


def manifest_name(prefix: str) -> str:
    """File name of the manifest of a model with this C prefix."""
    return f"{prefix}_manifest.json"


def manifest(
    options: CompileOptions, plan: Plan, files: Mapping[str, bytes], facts: PlatformFacts, summary: str
) -> bytes:
    """The manifest as JSON text; the same arguments give the same bytes, and no path of a machine is in them.

    ``files`` are all other generated files. Kernel sources are named relative to runtime/.
    """
    names = sorted(files)
    content = {
        "format": MANIFEST_FORMAT,
        "name": options.name,
        "fingerprint": fingerprint(options, plan, facts),
        "summary": summary,
        "plan": f"{options.name}_plan.json",
        "report": f"{options.name}_report.json",
        "sources": _ending(names, ".c"),
        "headers": _ending(names, ".h"),
        "kernel_sources": list(plan.kernel_sources),
        "gcc_options": _gcc_options(plan, counts_stacks=facts.counts_stacks),
        **({"core_stack_bytes": plan.core_stack_bytes} if plan.core_stack_bytes else {}),
        "pools": {use.pool: use.used_bytes for use in plan.pool_use},
        "platform": facts.to_json(),
        "depends": {"model": plan.model_sha256, "platform": facts.sha256},
        "files": {name: sha256_hex(files[name]) for name in names},
    }
    return _json(content)


def _json(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, sort_keys=True) + "\n").encode()


def with_files(content: bytes, others: Mapping[str, bytes]) -> bytes:
    """A manifest that also lists ``others`` under ``files``, so that they are removed when a later one does not."""
    facts = json.loads(content)
    facts["files"] |= {name: sha256_hex(other) for name, other in others.items()}
    return _json(facts)


def fingerprint(options: CompileOptions, plan: Plan, facts: PlatformFacts) -> str:
    """SHA-256 of the tool's version, the model, the platform and the options, without the folders of files."""
    return sha256_hex(
        json.dumps(
            {
                "tool": plan.tool_version,
                "model": [options.model.name, plan.model_sha256],
                "platform": facts.sha256,
                "options": options.to_json(),
            },
            sort_keys=True,
        ).encode()
    )


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content."""
    return sha256_hex(read_content(path))


def sha256_hex(content: bytes) -> str:
    """SHA-256 as lower-case hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def _gcc_options(plan: Plan, *, counts_stacks: bool) -> dict[str, Any]:
    """Options of GCC for all C files of the library, and options that follow them for single kernel sources.

    The declarations of kernels are imported here, so that commands without a model start without NumPy.
    """
    from tilewright.kernels.gcc_options import COUNTED_LEVEL, LIBRARY_OPTIONS, options_of_source

    sources = {name: list(own) for name in plan.kernel_sources if (own := options_of_source(name))}
    level = COUNTED_LEVEL if counts_stacks else ()
    return {"library": [*level, *LIBRARY_OPTIONS], "sources": sources}


def _ending(names: Sequence[str], suffix: str) -> list[str]:
    return [name for name in names if name.endswith(suffix)]
