"""The documentation as a site: every link leads somewhere, every page is in a list, pictures are current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.pages import ROOT

pytest.importorskip("sphinx")
pytest.importorskip("myst_parser")
DOCS = ROOT / "docs"


def build(source: Path, target: Path) -> str:
    """Warnings of a build, nothing if there are none."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(source), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode != 0) == bool(done.stderr), done.stdout + done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    assert build(DOCS, folder) == ""
    return folder


def test_every_page_is_on_the_site(site: Path) -> None:
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_every_page_is_named_on_the_first() -> None:
    """docs/index.md, where readers of the repository begin, links every page but those of single operators."""
    linked = set(re.findall(r"\]\(([^)#]+)\)", (DOCS / "index.md").read_text(encoding="utf-8")))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("*/*.md")}
    assert linked >= pages


def test_pictures_are_on_the_site(site: Path) -> None:
    page = (site / "explanation" / "planning.html").read_text(encoding="utf-8")
    names = re.findall(r'<img [^>]*src="([^"]*)"', page)
    assert len(names) >= 2
    assert all((site / "explanation" / name).is_file() for name in names)


MISTAKES = {
    "nowhere.md": "[There](nowhere.md)",
    "no-such-heading": "[There](#no-such-heading)",
    "none.svg": "![](none.svg)",
}


def test_mistakes_are_noticed(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    (source / "conf.py").write_text("extensions = ['myst_parser']\nmyst_heading_anchors = 3\n", encoding="utf-8")
    (source / "index.md").write_text("\n\n".join(["# Site", *MISTAKES.values()]), encoding="utf-8")
    (source / "lost.md").write_text("# In no list\n", encoding="utf-8")
    warnings = build(source, tmp_path / "site")
    for told in (*MISTAKES, "lost.md"):
        assert told in warnings


def test_links_of_the_readme() -> None:
    """Links of README.md and CONTRIBUTING.md, which are not on the site."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (ROOT / link).exists(), f"{page.name}: {link}"


def test_pictures_are_what_the_script_draws() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "pictures.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}scripts/pictures.py draws them anew"
