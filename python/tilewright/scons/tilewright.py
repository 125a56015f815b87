"""SCons tool: the CMake functions' counterparts, over the same command line and manifests.

``env.TilewrightModel``, ``env.TilewrightPort`` and ``env.TilewrightSimulate``. ``TILEWRIGHT_PYTHON``
in the construction environment is the interpreter that has Tilewright; if absent, SCons' own interpreter.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import SCons.Errors
import SCons.Util

PACKAGE = Path(__file__).resolve().parent.parent
ROOT = PACKAGE / "_data" if (PACKAGE / "_data").is_dir() else PACKAGE.parent.parent
# Keywords of options and their arguments; scripts/reference_pages.py writes them.
FLAGS = {
    "QUANTIZED_IO": "--quantized-io",
    "FLOAT_IO": "--float-io",
    "STATIC_POOLS": "--static-pools",
    "IO_IN_POOLS": "--io-in-pools",
    "OUTPUTS_IN_POOLS": "--outputs-in-pools",
    "CHECK_CONSTANTS": "--check-constants",
    "GUARDS": "--guards",
    "PROTECT": "--protect",
    "PROFILE": "--profile",
}
VALUES = {
    "PLATFORM": "--platform",
    "NAME": "--name",
    "BUFFERING": "--buffering",
    "EFFORT": "--effort",
    "ALGORITHM": "--algorithm",
    "GROUPS": "--groups",
    "FEED": "--feed",
    "STACK_BYTES": "--stack-bytes",
    "WEIGHTS": "--weights",
}
FILES = {
    "MODEL": "--model",
    "PLAN_LOCK": "--plan-lock",
}
LISTS = {
    "POOLS": "--pool",
    "BUDGET": "--budget",
    "TYPES": "--type",
    "DIMS": "--dim",
    "BOUND": "--bound",
    "STATE": "--state",
    "SLIDE": "--slide",
    "OPERATORS": "--operators",
    "INTERFACE": "--interface",
}
SUFFIXES = {
    "PLATFORM": ".toml",
    "OPERATORS": ".py",
}
REQUIRED = ("MODEL", "PLATFORM")
# End of the keywords of options.
OWN = ("OPTIONS", "OUTPUT_DIRECTORY", "OPERATOR_SOURCES")
CODE_OPTIONS = ("-std=c11", "-ffp-contract=off", "-ffunction-sections", "-fdata-sections")


def generate(env: Any) -> None:
    """Add the methods to a construction environment; SCons calls it."""
    env.SetDefault(TILEWRIGHT_PYTHON=sys.executable, TILEWRIGHT_OPTIMIZE="-O2")
    env.AddMethod(_model, "TilewrightModel")
    env.AddMethod(_port, "TilewrightPort")
    env.AddMethod(_simulate, "TilewrightSimulate")


def exists(env: Any) -> bool:
    """Whether the tool can be used; SCons calls it."""
    del env
    return True


def _model(env: Any, target: str, **given: Any) -> Any:
    """A static library from a model, with the keywords of ``tilewright_add_model``.

    The environment gets the folders of its headers and the platform's options, for programs that
    use it. Files are generated when SCons reads the call, and only if something has changed.
    Raises UserError with the tool's message.
    """
    caller = f"TilewrightModel({target})"
    _check_keywords(caller, given)
    name = given.get("NAME") or _c_prefix(target)
    folder = _folder(env, given.get("OUTPUT_DIRECTORY") or f"tilewright/{target}")
    platform, platform_file = _platform(env, given["PLATFORM"])
    words, files = _arguments(env, {**given, "NAME": name, "PLATFORM": platform})
    if given.get("OPTIONS"):
        files.append(_file(env, given["OPTIONS"]))
        words += ["--options", files[-1]]
    inputs = [Path(file) for file in dict.fromkeys([str(platform_file), *files])]
    manifest_file = folder / f"{name}_manifest.json"
    manifest = _generated(env, caller, manifest_file, inputs, ["generate", *words])
    sys.stdout.write(f"{manifest['summary']}\n")
    _report(env, target, name, folder, manifest)
    operators = [Path(_file(env, source)) for source in SCons.Util.flatten([given.get("OPERATOR_SOURCES", [])])]
    return _library(env, target, folder, manifest, operators)


def _report(env: Any, target: str, name: str, folder: Path, manifest: Any) -> None:
    """The alias ``<target>_report`` prints where the memory goes and writes that as a page."""
    command = [str(env["TILEWRIGHT_PYTHON"]), "-m", "tilewright", "report", str(folder / manifest["plan"])]
    page = ["--format", "html", "--output", str(folder / f"{name}_report.html")]

    def run(target: Any, source: Any, env: Any) -> int:
        del target, source, env
        return subprocess.call(command) or subprocess.call(command + page)

    env.AlwaysBuild(env.Alias(f"{target}_report", [], env.Action(run, f"Reporting on {target}")))


def _check_keywords(caller: str, given: dict[str, Any]) -> None:
    known = {*FLAGS, *VALUES, *FILES, *LISTS, *OWN}
    for keyword in given:
        if keyword not in known:
            raise SCons.Errors.UserError(f"{caller}: unknown keyword '{keyword}'")
    for keyword in REQUIRED:
        if not given.get(keyword):
            raise SCons.Errors.UserError(f"{caller}: {keyword} is missing")


def _arguments(env: Any, given: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The command line for the keywords of options that are given, and the files in it, by their whole paths."""
    words: list[str] = []
    files: list[str] = []
    for keyword, argument in {**FILES, **VALUES, **LISTS}.items():
        for value in SCons.Util.flatten([given.get(keyword) or []]):
            if keyword in FILES or str(value).endswith(SUFFIXES.get(keyword, "\0")):
                files.append(_file(env, value))
                words += [argument, files[-1]]
            else:
                words += [f"{argument}={value}"] if keyword in LISTS else [argument, str(value)]
    words += [argument for keyword, argument in FLAGS.items() if given.get(keyword)]
    return words, files


def _file(env: Any, name: Any) -> str:
    return str(env.File(name).srcnode().get_abspath())


def _c_prefix(target: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", target).strip("_")
    return f"_{name}" if name[:1].isdigit() else name


def _folder(env: Any, path: str) -> Path:
    return Path(env.Dir(path).get_abspath())


def _platform(env: Any, platform: str) -> tuple[str, Path]:
    """The platform as the command line takes it (a shipped name, or the path of a file), and its file."""
    if platform.endswith(".toml") or "/" in platform:
        file = _file(env, platform)
        return file, Path(file)
    return platform, ROOT / "platforms" / f"{platform}.toml"


def _generated(env: Any, caller: str, manifest: Path, inputs: Sequence[Path], command: Sequence[str]) -> Any:
    """The manifest; the tool runs first if the fingerprint or a generated file has changed since its last run."""
    names = {str(path): f"{path.name} {_sha256(path)}" for path in inputs}
    facts = [_tool_hash(), *[names.get(word, word) for word in command], *names.values()]
    fingerprint = hashlib.sha256("\n".join(facts).encode()).hexdigest()
    stamp = manifest.with_name(manifest.name + ".stamp")
    if not _is_fresh(manifest, stamp, fingerprint):
        _run(env, caller, [*command, "--output-dir", str(manifest.parent)])
        stamp.write_text(f"{fingerprint}\n{_sha256(manifest)}\n", encoding="utf-8")
    return json.loads(manifest.read_bytes())


def _is_fresh(manifest: Path, stamp: Path, fingerprint: str) -> bool:
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != f"{fingerprint}\n{_sha256(manifest)}\n":
        return False
    files = json.loads(manifest.read_bytes())["files"]
    return all(_sha256(manifest.parent / name) == content for name, content in files.items())


def _tool_hash() -> str:
    """SHA-256 over the files that decide what is generated."""
    files = [path for suffix in ("py", "cpp", "hpp") for path in PACKAGE.rglob(f"*.{suffix}")]
    files += (ROOT / "templates").glob("*.j2")
    lines = sorted(f"{path.name} {_sha256(path)}" for path in files)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "absent"


def _run(env: Any, caller: str, words: Sequence[str]) -> None:
    command = [str(env["TILEWRIGHT_PYTHON"]), "-m", "tilewright", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    except OSError as error:
        raise SCons.Errors.UserError(f"{caller}: TILEWRIGHT_PYTHON cannot be started: {error}") from error
    if done.returncode:
        errors = done.stderr.strip().replace("\n", "\n  ")
        raise SCons.Errors.UserError(f"{caller}:\n  {errors}\n  to repeat: {shlex.join(command)}")
    sys.stderr.write(done.stderr)


def _library(env: Any, target: str, folder: Path, manifest: Any, operators: list[Path]) -> Any:
    """The static library of a model; ``operators`` are C files of the project's own operators, headers beside them."""
    options = manifest["platform"]["compile_options"]
    include = [str(folder), str(ROOT / "runtime" / "include")]
    env.AppendUnique(CPPPATH=include, CCFLAGS=options, LINKFLAGS=options)
    kernels = [*(ROOT / "runtime" / name for name in manifest["kernel_sources"]), *operators]
    if any("#include <math.h>" in path.read_text(encoding="utf-8") for path in kernels):
        env.AppendUnique(LIBS=["m"])
    sources = [folder / name for name in manifest["sources"]]
    own = env.Clone()
    own.Append(CCFLAGS=[*CODE_OPTIONS, *_optimize(env)])
    own.AppendUnique(CPPPATH=[str(path.parent) for path in operators])
    of_source = _use_gcc_options(own, manifest["gcc_options"])
    library = own.StaticLibrary(str(folder / target), _objects(own, folder, [*sources, *kernels], of_source))
    env.Clean(library, str(folder))
    return library


def _use_gcc_options(own: Any, options: Any) -> dict[Path, list[str]]:
    """If the compiler is GCC, add its options for all files of a library; return the options of single sources."""
    command = [*shlex.split(own.subst("$CC")), "-dM", "-E", "-x", "c", "-"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    if "__GNUC__" not in done.stdout or "__clang__" in done.stdout:
        return {}
    own.Append(CCFLAGS=options["library"])
    return {ROOT / "runtime" / name: words for name, words in options["sources"].items()}


def _optimize(env: Any) -> list[str]:
    flags = env.subst("$CFLAGS $CCFLAGS")
    option = str(env["TILEWRIGHT_OPTIMIZE"])
    return [option] if option and not re.search(r"-O([1-9sz]|fast)", flags) else []


def _objects(
    env: Any, folder: Path, sources: Iterable[Path], options: Mapping[Path, list[str]] = MappingProxyType({})
) -> list[Any]:
    """Objects of sources, some with options of their own; names of objects differ where two sources share one name."""
    nodes: list[Any] = []
    for source in sources:
        target = str(folder / "objects" / f"{source.parent.name}-{source.stem}")
        nodes += env.StaticObject(target, str(source), CCFLAGS=[*env["CCFLAGS"], *options.get(source, [])])
    return nodes


def _port(env: Any, PLATFORM: str, PORT: str | None = None) -> list[Any]:
    """Objects of the platform's port, for a program; the environment gets its linker script.

    Raises UserError if there is no such port.
    """
    caller = f"TilewrightPort({PLATFORM})"
    platform, file = _platform(env, PLATFORM)
    folder = _folder(env, f"tilewright/platforms/{file.stem}")
    command = ["platform", "--platform", platform, "--name", file.stem]
    facts = _generated(env, caller, folder / f"{file.stem}_platform.json", [file], command)
    options = facts["platform"]["compile_options"]
    env.AppendUnique(CPPPATH=[str(ROOT / "runtime" / "include")], CCFLAGS=options, LINKFLAGS=options)
    port = PORT or facts["platform"]["port"]
    objects = _port_objects(env, caller, folder, port) if port else []
    if facts["linker_script"]:
        _use_script(env, str(folder / facts["linker_script"]))
    return objects


def _use_script(env: Any, script: str) -> None:
    """Link programs of the environment with the script, and again when it changes."""

    def depend(target: Any, source: Any, env: Any) -> tuple[Any, Any]:
        env.Depends(target, script)
        return target, source

    env.Append(LINKFLAGS=[f"-T{script}", "-Wl,--gc-sections", "-Wl,--orphan-handling=error"], PROGEMITTER=[depend])


def _port_objects(env: Any, caller: str, folder: Path, port: str) -> list[Any]:
    ports = ROOT / "runtime" / "ports"
    listing = ports / port / "port.cmake"
    if not listing.is_file():
        known = ", ".join(sorted(path.parent.name for path in ports.glob("*/port.cmake")))
        raise SCons.Errors.UserError(f"{caller}: there is no port '{port}'; known: {known}")
    text = re.sub(r"#.*", "", listing.read_text(encoding="utf-8"))
    settings = {name: words.split() for name, words in re.findall(r"set\(\s*TILEWRIGHT_PORT_(\w+)([^)]*)\)", text)}
    sources = [(listing.parent / name).resolve() for name in settings["SOURCES"]]
    own = env.Clone()
    own.Append(CPPPATH=[str(listing.parent)], CCFLAGS=settings["COMPILE_OPTIONS"])
    own.Replace(ASPPFLAGS="$CCFLAGS")
    env.AppendUnique(LINKFLAGS=settings["LINK_OPTIONS"])
    return _objects(own, folder, sources)


def _simulate(env: Any, name: str, program: Any, PLATFORM: str, TIMEOUT: float = 300) -> Any:
    """An alias that runs a program in the platform's simulator and fails if the program does."""
    platform, _ = _platform(env, PLATFORM)
    words = [str(env["TILEWRIGHT_PYTHON"]), "-m", "tilewright", "simulate", "--platform", platform]

    def run(target: Any, source: Any, env: Any) -> int:
        del target, env
        return subprocess.call([*words, "--timeout", str(TIMEOUT), "--elf", source[0].get_abspath()])

    return env.AlwaysBuild(env.Alias(name, program, env.Action(run, f"Running {name}")))
