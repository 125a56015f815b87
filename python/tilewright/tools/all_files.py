"""All files of a compilation: what the compiler made, the report and the manifest."""

from __future__ import annotations

from tilewright.options import CompileOptions
from tilewright.pipeline import Artifacts
from tilewright.report.data import report_json
from tilewright.tools.manifest import manifest, manifest_name, platform_facts


def all_files(options: CompileOptions, artifacts: Artifacts) -> dict[str, bytes]:
    """File name to content, as ``tilewright generate`` writes them; ``manifest_name`` is the manifest's key."""
    files = {**artifacts.files, f"{options.name}_report.json": report_json(artifacts.plan).encode()}
    content = manifest(options, artifacts.plan, files, platform_facts(options.platform), artifacts.summary)
    return {**files, manifest_name(options.name): content}
