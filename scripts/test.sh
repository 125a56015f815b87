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

# CMake hands these variables to every project that a ctest configures: the projects compile mostly the same files.
launcher=()
if command -v ccache >/dev/null; then
    launcher=(CMAKE_C_COMPILER_LAUNCHER=ccache "CCACHE_DIR=$root/build/ccache")
fi

./scripts/lint.sh
say "pytest"
# Neighbouring tests stay in one process, where they share what a module compiles. One process more than CI has cores:
# a fifth of the time tests wait, for simulators, signals and disks.
pytest -q -n 3 --dist worksteal --durations=10 ${selection[@]+"${selection[@]}"}
for preset in host qemu-rv32; do
    say "ctest: $preset"
    cmake --preset "$preset" "-DTILEWRIGHT_LONG_TESTS=$long"
    cmake --build --preset "$preset"
    env ${launcher[@]+"${launcher[@]}"} ctest --preset "$preset$suffix"
    say "the ten slowest, in seconds: $preset"
    sed '/^---/,$d' "build/$preset/Testing/Temporary/CTestCostData.txt" | sort -k 3,3 -rn |
        awk 'NR <= 10 { print $3, $1 }'
done
