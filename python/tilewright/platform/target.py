"""The table ``[target]`` of a platform file: the compiler, its library of kernels, and what the port offers."""

from __future__ import annotations

import re
from dataclasses import field

from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.settings import Form, setting

IDENTIFIER = Form(re.compile(r"[a-z](_?[a-z0-9])*"), "lower-case letters, digits and single underscores")
_LARGEST = 2**31


@dataclass(frozen=True, slots=True)
class Target:
    """Compiler options, families of kernels and port of the platform."""

    kernels: tuple[str, ...] = field(
        metadata=setting(
            "kernel families; of kernels with nearly equal cost the first is taken: `scalar`, `xpulpv2`, `rvv`, "
            "`dsp`, `mve` ([families](operators-and-kernels.md#families))",
            form=IDENTIFIER,
        )
    )
    compile_options: tuple[str, ...] = field(
        default=(), metadata=setting("options of compiler and linker that select instruction set and ABI")
    )
    port: str | None = field(
        default=None,
        metadata=setting(
            "folder under `runtime/ports`; none: the user supplies the port, or the plan needs no link",
            form=IDENTIFIER,
            none="none",
        ),
    )
    stack_bytes: int = field(
        default=4096,
        metadata=setting(
            "the least stack; the shipped linker script fails to link with less",
            unit="bytes",
            minimum=256,
            maximum=_LARGEST,
        ),
    )
    protected_regions: int = field(
        default=0,
        metadata=setting(
            "regions of memory that the port can keep a layer inside (`tilewright/protect.h`), beside code and stack; "
            "0: the option `protect` is refused",
            maximum=64,
        ),
    )
    protected_granule_bytes: int = field(
        default=1,
        metadata=setting(
            "begin and end of such a region are multiples of this; pools take whole granules with `protect`",
            unit="bytes",
            minimum=1,
            maximum=4096,
        ),
    )
    protected_parts: int = field(
        default=0,
        metadata=setting(
            "equal parts of such a region that can be left out, where it is a power of two of bytes at a multiple of "
            "itself; pools are planned so; 0: regions are any granules",
            maximum=64,
        ),
    )
