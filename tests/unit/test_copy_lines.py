"""Copies by the core: all bytes of a line and no others, whatever its length and the remainders of its addresses."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.firmware import WARNINGS, needs_host_compiler
from tilewright.base.resources import runtime_dir

DRIVER = r"""
#include <stdio.h>
#include <tilewright/copy_lines.h>

enum { MOST = 75, ROOM = 3 + 2 * (MOST + 5) + 8 };

/* Copies two lines of each length from each byte of a word to each; prints how many lines, and the first that is
 * wrong. `short_by`: bytes that the copy leaves out. */
int main(int count, char **arguments)
{
    const uint32_t short_by = count > 1 ? (uint32_t)(arguments[1][0] - '0') : 0u;
    unsigned lines = 0;
    for (uint32_t bytes = 0; bytes <= MOST; bytes++) {
        for (uint32_t from = 0; from < 4u; from++) {
            for (uint32_t to = 0; to < 4u; to++) {
                _Alignas(4) uint8_t source[ROOM];
                _Alignas(4) uint8_t destination[ROOM];
                const uint32_t stride = bytes + from + 1u;
                for (uint32_t i = 0; i < ROOM; i++) {
                    source[i] = (uint8_t)(i * 7u + 1u);
                    destination[i] = 0u;
                }
                tilewright_copy_lines((tilewright_address_t)(uintptr_t)(destination + to),
                                      (tilewright_address_t)(uintptr_t)(source + from), 2u,
                                      bytes < short_by ? 0u : bytes - short_by, (int32_t)stride, (int32_t)stride);
                for (uint32_t i = 0; i < ROOM; i++) {
                    const uint32_t at = i - to;
                    const int inside = at < bytes || at - stride < bytes;
                    const uint8_t wanted = inside != 0 ? source[at + from] : 0u;
                    if (destination[i] != wanted) {
                        printf("wrong: %u bytes from %u to %u, byte %u\\n", (unsigned)bytes, (unsigned)from,
                               (unsigned)to, (unsigned)i);
                        return 1;
                    }
                }
                lines += 2u;
            }
        }
    }
    printf("%u lines\\n", lines);
    return 0;
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy_lines")
    source, program = folder / "driver.c", folder / "driver"
    source.write_text(DRIVER.replace("\\\\n", "\\n"), encoding="utf-8")
    include = f"-I{runtime_dir() / 'include'}"
    flags = ["-std=c11", "-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", *WARNINGS, include]
    subprocess.run(["gcc", *flags, str(source), "-o", str(program)], check=True)
    return program


@needs_host_compiler
def test_lines_of_all_lengths_and_remainders(driver: Path) -> None:
    done = subprocess.run([driver], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (f"{2 * 76 * 16} lines\n", 0)


@needs_host_compiler
def test_a_copy_that_leaves_out_a_byte_is_found(driver: Path) -> None:
    done = subprocess.run([driver, "1"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("wrong: 1 bytes from 0 to 0, byte 0\n", 1)
