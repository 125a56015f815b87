# SPDX-License-Identifier: Apache-2.0
# Thin on purpose: make cannot handle the spaces that a folder's name may have, the scripts can.
.PHONY: demo test test-all conformance gvsoc setup format docs

demo:
	@./scripts/demo.sh

test:
	@./scripts/test.sh

test-all:
	@./scripts/test.sh --all

conformance:
	@./scripts/conformance.sh

gvsoc:
	@./scripts/gvsoc.sh

docs:
	@./scripts/docs.sh

setup:
	@./scripts/setup.sh

format:
	@./scripts/format.sh
