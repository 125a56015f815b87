"""Files of how-tos that cannot be run here as they are."""

from __future__ import annotations

import re
from pathlib import Path

from docs.pages import ROOT, blocks
from docs.session import packages_of_setup

HOW_TO = ROOT / "docs" / "how-to"


def block(page: str, language: str) -> str:
    return next(item.text for item in blocks((HOW_TO / page).read_text(encoding="utf-8")) if item.language == language)


def test_the_workflow_of_use_in_ci() -> None:
    """use-in-ci.md: its packages are those of setup.sh, its paths are in the source tree, its commands the README's."""
    text = block("use-in-ci.md", "yaml")
    (install,) = re.findall(r"apt-get install --yes (.*)", text)
    assert set(install.split()) <= packages_of_setup()
    for path in re.findall(r"tilewright/([\w./-]+\.(?:cmake|toml))", text):
        assert (ROOT / Path(path)).is_file()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("cmake --build build", "ctest --test-dir build"):
        assert command in text
        assert command in readme
    assert not re.findall(r"^\t", text, re.MULTILINE)


def test_what_stream_prints() -> None:
    """stream.md: the folders that it configures, and the times at which onnxruntime hears the word."""
    words = block("stream.md", "sh").split()
    for path in (word.removeprefix("tilewright/") for word in words if word.startswith("tilewright/")):
        assert (ROOT / path).exists()
    header = (ROOT / "examples" / "wake-word" / "recording.h").read_text(encoding="utf-8")
    found = re.search(r"heard_by_onnxruntime\[RECORDING_WORDS\] = {([\d, ]+)}", header)
    assert found is not None
    frames = [int(frame) for frame in found[1].split(",")]
    assert block("stream.md", "text").splitlines() == [f"heard at {20 * frame} ms" for frame in frames]


def test_the_project_of_make_it_smaller() -> None:
    """make-it-smaller.md: the folders that its last commands configure; tests of examples build and run it."""
    found = blocks((HOW_TO / "make-it-smaller.md").read_text(encoding="utf-8"))
    words = [item.text for item in found if item.language == "sh"][-1].split()
    paths = [word.removeprefix("tilewright/") for word in words if word.startswith("tilewright/")]
    assert len(paths) == 2
    assert all((ROOT / path).exists() for path in paths)


def test_every_how_to_says_what_it_starts_from() -> None:
    for path in HOW_TO.glob("*.md"):
        assert "\n\nStarts from: " in path.read_text(encoding="utf-8"), path.name
