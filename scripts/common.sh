# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the other scripts: strictness, the root folder, and the environment's programs.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
venv=$root/.venv
export PATH=$venv/bin:$PATH
# What is built here runs on this machine: the caller's variables may name a cross compiler.
unset CC CXX CFLAGS CXXFLAGS LDFLAGS PYTHONPATH
# Tests start the tool hundreds of times; without stored bytecode each start would compile all of Tilewright anew.
unset PYTHONDONTWRITEBYTECODE

say() {
    printf '\n== %s\n' "$*"
}
