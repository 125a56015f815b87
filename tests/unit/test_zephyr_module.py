"""The source tree as a module of Zephyr: its manifests, its Kconfig, and the sample with a stand-in for Zephyr."""

from __future__ import annotations

import copy
import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.firmware import needs_host_compiler

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "zephyr" / "samples" / "digits"
HOW_TO = ROOT / "docs" / "how-to" / "zephyr-and-esp-idf.md"
TEXT, FLAG, NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def table(**keys: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": keys}


SCENARIO = table(
    tags={"anyOf": [TEXT, TEXTS]},
    modules=TEXTS,
    min_ram=NUMBER,
    min_flash=NUMBER,
    timeout=NUMBER,
    slow=FLAG,
    build_only=FLAG,
    filter=TEXT,
    extra_configs=TEXTS,
    integration_platforms=TEXTS,
    platform_allow={"anyOf": [TEXT, TEXTS]},
    harness={"enum": ["console", "ztest", "pytest"]},
    harness_config=table(type={"enum": ["one_line", "multi_line"]}, regex=TEXTS, ordered=FLAG),
)
MANIFESTS = {
    "module.yml": table(name=TEXT, build=table(cmake=TEXT, kconfig=TEXT), tests=TEXTS, samples=TEXTS),
    "samples/digits/sample.yaml": {
        **table(
            sample=table(name=TEXT, description=TEXT),
            common=SCENARIO,
            tests={"type": "object", "minProperties": 1, "patternProperties": {r"^[\w.]+$": SCENARIO}},
        ),
        "required": ["sample", "tests"],
    },
}
"""The keys that we may use, with the types that Zephyr 4.2's scripts/schemas/module-schema.yaml and
twister/testsuite-schema.yaml give them; these have more."""


def loaded(path: Path) -> Any:
    return importlib.import_module("yaml").safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_have_the_keys_that_zephyr_knows(name: str) -> None:
    content = loaded(ROOT / "zephyr" / name)
    jsonschema.validate(content, MANIFESTS[name])
    spoilt = copy.deepcopy(content)
    spoilt.setdefault("build", {})["cmakee"] = "."
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(spoilt, MANIFESTS[name])


def test_the_module_names_what_there_is() -> None:
    module = loaded(ROOT / "zephyr" / "module.yml")
    assert (ROOT / module["build"]["cmake"] / "CMakeLists.txt").is_file()
    assert (ROOT / module["build"]["kconfig"]).is_file()
    samples = [found for folder in module["samples"] for found in (ROOT / folder).rglob("sample.yaml")]
    assert samples == [SAMPLE / "sample.yaml"]


def scenarios() -> dict[str, list[str]]:
    """The sample's scenarios, with the settings of each beside those of prj.conf."""
    tests = loaded(SAMPLE / "sample.yaml")["tests"]
    return {name: item.get("extra_configs", []) for name, item in tests.items()}


@needs_host_compiler
@pytest.mark.parametrize("name", scenarios())
def test_the_sample_prints_what_twister_looks_for(name: str, tmp_path: Path, warm_python: Path) -> None:
    """Built for this machine, with a stand-in for what the sample calls of Zephyr."""
    lines = [*(SAMPLE / "prj.conf").read_text(encoding="utf-8").splitlines(), *scenarios()[name]]
    words = [f"-D{line}" for line in lines if line.startswith("CONFIG_")]
    stand_in = ROOT / "tests" / "docs" / "stand_ins" / "zephyr"
    words += [f"-DZephyr_DIR={stand_in}", f"-DTILEWRIGHT_PYTHON={warm_python}"]
    for command in (["cmake", "-S", SAMPLE, "-B", tmp_path, *words], ["cmake", "--build", tmp_path]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    (header,) = tmp_path.rglob("digits.h")
    is_guarded = "CONFIG_TILEWRIGHT_GUARDS=y" in scenarios()[name]
    assert ("DIGITS_CORRUPTED" in header.read_text(encoding="utf-8")) == is_guarded
    ran = subprocess.run([tmp_path / "zephyr_final"], capture_output=True, text=True, check=False)
    (wanted,) = loaded(SAMPLE / "sample.yaml")["common"]["harness_config"]["regex"]
    assert ran.returncode == 0
    assert re.search(wanted, ran.stdout)


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Zephyr's own tools from PyPI: the folder of their programs."""
    folder = tmp_path_factory.mktemp("west") / "tools"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "west", "kconfiglib"]
    subprocess.run(install, check=True)
    return folder / "bin"


@pytest.mark.long
def test_west_finds_the_module(tools: Path, tmp_path: Path) -> None:
    """The how-to's manifest, with a repository of the module's files in the place of its address."""
    found = re.search(r"`app/west.yml`:\n\n```yaml\n(.*?)```", HOW_TO.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    module, app = tmp_path / "served" / "tilewright", tmp_path / "app"
    (module / "zephyr").mkdir(parents=True)
    for name in ("CMakeLists.txt", "zephyr/module.yml", "zephyr/Kconfig"):
        (module / name).write_bytes((ROOT / name).read_bytes())
    app.mkdir()
    text = re.sub(r"url-base: .*", f"url-base: file://{module.parent}", found[1])
    (app / "west.yml").write_text(text, encoding="utf-8")
    for folder in (module, app):
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "x"], ["tag", "v0.1.0"]):
            subprocess.run([*git, *words], cwd=folder, check=True)
    west = [tools / "west"]
    for words in (["init", "-l", app], ["update"]):
        subprocess.run([*west, *words], cwd=tmp_path, check=True, capture_output=True)
    listed = subprocess.run([*west, "list"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert re.search(r"^tilewright\s+modules/lib/tilewright\s+v0.1.0", listed, re.MULTILINE)
    assert (tmp_path / "modules" / "lib" / "tilewright" / "zephyr" / "module.yml").is_file()
    (app / "west.yml").write_text(text.replace("remote: tilewright", "remote: nowhere"), encoding="utf-8")
    assert subprocess.run([*west, "list"], cwd=tmp_path, capture_output=True, check=False).returncode != 0


@pytest.mark.long
def test_kconfig_knows_what_the_sample_sets(tools: Path, tmp_path: Path) -> None:
    """By the library from which Zephyr's own came; MAIN_STACK_SIZE is a symbol of Zephyr."""
    top = tmp_path / "Kconfig"
    top.write_text(f'config MAIN_STACK_SIZE\n\tint\nsource "{ROOT / "zephyr" / "Kconfig"}"\n', encoding="utf-8")
    script = (
        "import sys, kconfiglib\n"
        "found = kconfiglib.Kconfig(sys.argv[1], warn_to_stderr=False)\n"
        "found.warn_assign_undef = True\n"
        "found.load_config(sys.argv[2])\n"
        "print(*(f'{name}={found.syms[name].str_value}' for name in sys.argv[3:]))\n"
        "sys.exit(bool(found.warnings))\n"
    )
    names = ["TILEWRIGHT", "TILEWRIGHT_RAM_BYTES", "TILEWRIGHT_GUARDS"]

    def read(settings: Path) -> subprocess.CompletedProcess[str]:
        command = [tools / "python", "-c", script, top, settings, *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = read(SAMPLE / "prj.conf")
    assert (done.returncode, done.stdout) == (0, "TILEWRIGHT=y TILEWRIGHT_RAM_BYTES=4096 TILEWRIGHT_GUARDS=n\n")
    wrong = tmp_path / "wrong.conf"
    wrong.write_text("CONFIG_TILEWRIGHT_RAM_BITES=4096\n", encoding="utf-8")
    assert read(wrong).returncode == 1
