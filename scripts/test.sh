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

./scripts/lint.sh
say "pytest"
# Neighbouring tests stay in one process, where they share what a module compiles. One process more than CI has cores:
# a fifth of the time tests wait, for simulators, signals and disks.
pytest -q -n 3 --dist worksteal --durations=10 ${selection[@]+"${selection[@]}"}

# Hundreds of firmwares, and projects that a ctest configures, compile mostly the same files: CMake hands this on.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache "CCACHE_DIR=$root/build/ccache"
fi

# prepare_tests <preset>: configured and built.
prepare_tests() {
    cmake --preset "$1" "-DTILEWRIGHT_LONG_TESTS=$long"
    cmake --build --preset "$1"
}

# run_tests <preset>
run_tests() {
    say "ctest: $1"
    ctest --preset "$1$suffix"
    say "the ten slowest, in seconds: $1"
    sed '/^---/,$d' "build/$1/Testing/Temporary/CTestCostData.txt" | sort -k 3,3 -rn |
        awk 'NR <= 10 { print $3, $1 }'
}

# One process plans hundreds of networks for QEMU: meanwhile another core tests projects for this machine. In a group
# of its own, so that nothing of it outlives this script.
target=qemu-rv32
prepared=$root/build/$target.log
mkdir -p "$root/build"
set -m
prepare_tests $target </dev/null >"$prepared" 2>&1 &
preparing=$!
set +m
trap 'kill -- -$preparing 2>/dev/null || true' EXIT

prepare_tests host
run_tests host

say "prepared meanwhile: $target"
if ! wait $preparing; then
    cat "$prepared"
    exit 1
fi
tail -n 1 "$prepared"
run_tests $target
