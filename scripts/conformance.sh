#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX's own tests of operators against what Tilewright supports.
source "$(dirname "$0")/common.sh"
./scripts/setup.sh
pytest -q -n 2 tests/conformance
