#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX's own tests of operators against what Tilewright supports; arguments go to the harness (--only, --list).
source "$(dirname "$0")/common.sh"
./scripts/setup.sh
cd tests && PYTHONPATH="$root/tests" python -m conformance --build "$root/build/conformance" --least 1400 "$@"
