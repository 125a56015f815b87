#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lint, Python tests, then the tests on this machine and in QEMU. --all adds the long ones.
source "$(dirname "$0")/common.sh"
./scripts/setup.sh

selection=(-m 'not long')
suffix=
long=OFF
if [ "${1:-}" = --all ]; then
    selection=()
    suffix=-all
    long=ON
fi

# Hundreds of firmwares, and projects that a ctest configures, compile mostly the same files: CMake hands this on.
launcher=()
if command -v ccache >/dev/null; then
    launcher=(env CMAKE_C_COMPILER_LAUNCHER=ccache "CCACHE_DIR=$root/build/ccache")
fi

# prepare_tests <preset>: configured and built, in the background; `await_tests` waits for it.
# In a group of its own, so that nothing of it outlives this script.
prepare_tests() {
    mkdir -p "$root/build"
    set -m
    {
        "${launcher[@]}" cmake --preset "$1" "-DTILEWRIGHT_LONG_TESTS=$long"
        "${launcher[@]}" cmake --build --preset "$1"
    } </dev/null >"$root/build/$1.log" 2>&1 &
    preparing=$!
    set +m
    trap 'kill -- -$preparing 2>/dev/null || true' EXIT
}

# await_tests <preset>
await_tests() {
    say "prepared meanwhile: $1"
    if ! wait "$preparing"; then
        cat "$root/build/$1.log"
        exit 1
    fi
    tail -n 1 "$root/build/$1.log"
}

# run_tests <preset>
run_tests() {
    say "ctest: $1"
    "${launcher[@]}" ctest --preset "$1$suffix"
    say "the ten slowest, in seconds: $1"
    sed '/^---/,$d' "build/$1/Testing/Temporary/CTestCostData.txt" | sort -k 3,3 -rn |
        awk 'NR <= 10 { print $3, $1 }'
}

# mypy keeps one core busy, and so does a build of the first firmwares.
prepare_tests host
./scripts/lint.sh
await_tests host
say "pytest"
# Neighbouring tests stay in one process, where they share what a module compiles. One process more than CI has cores:
# a fifth of the time tests wait, for simulators, signals and disks.
pytest -q -n 3 --dist worksteal --durations=10 ${selection[@]+"${selection[@]}"}

# One process plans hundreds of networks for QEMU: meanwhile another core tests projects for this machine.
prepare_tests qemu-rv32
run_tests host
await_tests qemu-rv32
run_tests qemu-rv32
