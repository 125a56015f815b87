"""Small linked programs for the check of firmware: a model with its port, or hand-written code in a model's place."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from tilewright.base.resources import runtime_dir
from tilewright.codegen.linker import linker_script
from tilewright.kernels.gcc_options import LIBRARY_OPTIONS, options_of_source
from tilewright.options import CompileOptions
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Plan
from tilewright.plan.layout_hash import layout_hash
from tilewright.platform import load_platform

from support.firmware import ARM_GCC, RISCV_GCC, port_files
from support.objects import kept

EXAMPLE = Path(__file__).parents[2] / "examples" / "digits" / "digits.onnx"
COMPILERS = {
    "qemu_virt": (RISCV_GCC, "--specs=picolibc.specs"),
    "mps2_an385": (ARM_GCC, "--specs=nano.specs"),
    "pulp_open": (RISCV_GCC, "--specs=picolibc.specs"),
}
"""Compiler of each port's programs."""
MAIN = """
#include "digits.h"
{before}
_Alignas(16) __attribute__((section(".bss.tilewright.l1"))) static uint8_t l1[DIGITS_POOL_L1_SIZE];
_Alignas(16) __attribute__((section(".bss.tilewright.sram"))) static uint8_t sram[DIGITS_POOL_SRAM_SIZE];
int main(void)
{{
    static int8_t image[64];
    int8_t scores[10];
    const struct digits_inputs inputs = {{image}};
    const struct digits_outputs outputs = {{scores}};
    const struct digits_pools pools = {{.sram = sram, .l1 = l1}};
    return digits_run(&inputs, &outputs, &pools) == DIGITS_OK ? scores[0] == 127 : 1;
}}
"""
PAINTED = """
int main(void)
{{
    static const struct {name}_inputs inputs = {{{inputs}}};
    static const struct {name}_outputs outputs = {{{outputs}}};
    register uintptr_t pointer __asm__("sp");
    const uintptr_t top = pointer;
    for (uintptr_t place = top - {depth_bytes}u; place < top; place += 4) {{
        *(volatile uint32_t *)place = 0xA5A5A5A5u;
    }}
    if ({name}_run(&inputs, &outputs) != {upper}_OK) {{
        return 2;
    }}
    uintptr_t low = top - {depth_bytes}u;
    while (low < top && *(volatile uint32_t *)low == 0xA5A5A5A5u) {{
        low += 4;
    }}
    tilewright_console_word("stack ", top - low);
    return 0;
}}
"""
TOY = """
#include <stdint.h>
#include <tilewright/layout.h>
TILEWRIGHT_LAYOUT("toy", "{layout}")
TILEWRIGHT_ENTRY int toy_run(volatile int *x);
{code}
void _start(void);
void _start(void) {{ int x = 1; (void)toy_run(&x); for (;;) {{ }} }}
"""
SCRIPT = """
ENTRY(_start)
SECTIONS {
    .text 0x80000000 : { KEEP(*(.text._start)) *(.text .text.*) }
    .rodata : { *(.rodata .rodata.* .srodata .srodata.*) }
    .data 0x84000000 : { *(.data .data.* .sdata .sdata.*) }
    .bss : { *(.bss .bss.* .sbss .sbss.*) }
}
"""


@cache
def digits(
    platform: str = "qemu-virt-rv32", static_pools: bool = False, check_constants: bool = False, guards: bool = False
) -> Artifacts:
    """The model of the example, compiled once; a tensor of it lives where the caller's are, so that all pools count."""
    far = (("relu_2_QuantizeLinear_Output", load_platform(platform).io_pool),)
    options = CompileOptions(EXAMPLE, platform, "digits", quantized_io=True, static_pools=static_pools, homes=far)
    return compile_model(replace(options, check_constants=check_constants, guards=guards))


def write_model(folder: Path, artifacts: Artifacts) -> list[Path]:
    """The generated files in a folder; returns the C sources."""
    for name, content in artifacts.files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in artifacts.files if name.endswith(".c")]


def link_digits(
    folder: Path,
    platform: str = "qemu-virt-rv32",
    *,
    words: Sequence[str] = (),
    before: str = "",
    script: str | None = None,
) -> Path:
    """The example's model in a program; ``before`` stands in its main.c, ``script`` replaces the platform's."""
    return link_model(folder, digits(platform), MAIN.format(before=before), words=words, script=script)


def link_model(
    folder: Path,
    artifacts: Artifacts,
    main: str,
    *,
    words: Sequence[str] = (),
    script: str | None = None,
    more: Sequence[Path] = (),
    as_library: bool = False,
) -> Path:
    """A model in a program with the text ``main`` and ``more`` sources; ``words`` are the compiler's and linker's.

    ``as_library`` compiles with the options of GCC that the CMake functions give a model's library.
    """
    loaded, runtime = load_platform(artifacts.plan.platform), runtime_dir()
    sources = write_model(folder, artifacts)
    (folder / "main.c").write_text(main, encoding="utf-8")
    (folder / "firmware.ld").write_text(script or linker_script(loaded), encoding="utf-8")
    assert loaded.target.port is not None
    ports, link_words = port_files(loaded.target.port)
    tool = COMPILERS[loaded.target.port]
    compiler = [*tool, *loaded.target.compile_options, "-O2", "-ffunction-sections", "-fdata-sections"]
    includes = [f"-I{folder}", f"-I{runtime / 'include'}", f"-I{runtime / 'ports' / loaded.target.port}"]
    if as_library:
        words = [*words, *LIBRARY_OPTIONS]
    objects = kept([*compiler, *words, *includes], ports)
    for name in artifacts.plan.kernel_sources:
        own_words = options_of_source(name) if as_library else ()
        objects += kept([*compiler, *words, *own_words, *includes], [runtime / name])
    program = folder / "firmware.elf"
    own = [str(path) for path in (folder / "main.c", *more, *sources)]
    command = [*compiler, *words, *includes, *own, *objects, "-T", str(folder / "firmware.ld"), *link_words]
    # With link-time optimisation main is seen without its type, which the compiler warns of.
    command += ["-Wl,--gc-sections", "-lm", "-w", "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


def painted_main(plan: Plan, depth_bytes: int) -> str:
    """A main that paints ``depth_bytes`` below its stack, runs a model with static pools, and prints what it used.

    The bytes are printed as ``stack`` and a word in hexadecimal digits.
    """
    name, upper = plan.name, plan.name.upper()
    lines = [f'#include "{name}.h"', '#include "../common/board.h"']
    for kind, tensors in (("INPUT", plan.inputs), ("OUTPUT", plan.outputs)):
        for item in tensors:
            macro = f"{upper}_{kind}_{item.identifier.upper()}"
            lines.append(f"static _Alignas(16) uint8_t {kind}_{item.identifier}[{macro}_SIZE + 16];")
    inputs = ", ".join(f"(const void *)INPUT_{item.identifier}" for item in plan.inputs)
    outputs = ", ".join(f"(void *)OUTPUT_{item.identifier}" for item in plan.outputs)
    return "\n".join(lines) + PAINTED.format(
        name=name, upper=upper, inputs=inputs, outputs=outputs, depth_bytes=depth_bytes
    )


def toy_plan() -> Plan:
    """A plan without pools and constants, for a model ``toy`` whose code a test writes."""
    plan = digits().plan
    return replace(plan, name="toy", buffers=(), placements=(), pool_use=())


def link_toy(folder: Path, code: str, *, layout: str = "", library: bool = False) -> Path:
    """A program of hand-written code: ``code`` defines ``toy_run``."""
    source, script, program = folder / "toy.c", folder / "toy.ld", folder / "toy.elf"
    source.write_text(TOY.format(layout=layout or layout_hash(toy_plan()), code=code), encoding="utf-8")
    script.write_text(SCRIPT, encoding="utf-8")
    words = [*COMPILERS["qemu_virt"], "-march=rv32imac", "-mabi=ilp32", "-nostartfiles", "-fno-builtin", "-O2"]
    words += ["-ffunction-sections", f"-I{runtime_dir() / 'include'}", f"-T{script}", "-Wl,--no-warn-rwx-segments"]
    libraries = [] if library else ["-nostdlib", "-lgcc"]
    command = [*words, str(source), *libraries, "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program
