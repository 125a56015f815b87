#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs the simulator GVSoC: Python tests, then networks under ctest. --all adds the long ones
# and the figures of benchmarks/cluster.py.
source "$(dirname "$0")/common.sh"
if [ ! -x "${GVSOC_INSTALL_DIR:-}/bin/gvsoc" ] && ! command -v gvsoc > /dev/null; then
    echo "GVSoC is not installed, or GVSOC_INSTALL_DIR does not name its folder (docs/how-to/gvsoc.md)" >&2
    exit 1
fi
./scripts/setup.sh

suffix=
long=OFF
if [ "${1:-}" = --all ]; then
    suffix=-all
    long=ON
fi

say "pytest"
pytest -q -n 2 --dist worksteal tests/unit/test_pulp_open.py tests/unit/test_pulp_open_walkers.py \
    tests/unit/test_xpulpv2.py tests/unit/test_interpreter_*.py tests/unit/test_*gvsoc*.py
say "ctest: gvsoc"
cmake --preset gvsoc "-DTILEWRIGHT_LONG_TESTS=$long"
cmake --build --preset gvsoc
ctest --preset "gvsoc$suffix"
if [ "$long" = ON ] && [ -n "${TILEWRIGHT_CORPUS:-}" ]; then
    for what in predict overlap networks layers; do
        say "benchmarks/cluster.py $what"
        python benchmarks/cluster.py "$what" --corpus "$TILEWRIGHT_CORPUS"
    done
fi
