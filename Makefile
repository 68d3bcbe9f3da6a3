# Every target works as the first command after a clone: the virtual environment and the sglang sources that the tests
# read are set up on the way. Needs Python 3.10 or newer, make and, for the extension, Node.js 20 or newer.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# The stamp's name holds the sum of pyproject.toml, so that a changed dependency sets the environment up again.
READY  := $(VENV)/.ready-$(shell cksum < pyproject.toml | tr -c '0-9\n' '-')
SGLANG := .cache/sglang-0.5.23
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test check format bench bench-gpu sweep nightly sync clean

help:
	@echo 'make demo     the story of one error: foreseen, repaired, verified, recognised in a log'
	@echo 'make test     all tests'
	@echo 'make check    formatting, lint and types'
	@echo 'make format   apply formatting and safe lint fixes'
	@echo 'make bench    measured figures (see docs/benchmarks.md)'
	@echo 'make bench-gpu  the scatter timed on a GPU (GPU_PYTHON=/path/to/python, one with torch and Triton)'
	@echo 'make test-gpu   the scatter and verify tested on a GPU (GPU_PYTHON as above, with this project and pytest)'
	@echo 'make sweep    check sglang and torch themselves; fails on what is not in docs/findings.md (ARGS=--all for more)'
	@echo 'make nightly  the long runs: tests marked slow, property tests with more examples, the sweep of all libraries'
	@echo 'make vsix     package the VS Code extension for this platform into dist/ (or TARGET=darwin-arm64, ...)'
	@echo 'make e2e      the extension in a real VS Code, driven in Chromium (STORIES="int64 ..." for some)'
	@echo 'make sync     only set up $(VENV) and .cache'

sync: $(READY) $(SGLANG)/.complete

$(READY): pyproject.toml tools/bootstrap.py
	@$(PYTHON) tools/bootstrap.py $(VENV)
	@rm -f $(VENV)/.ready-* && touch $@

$(SGLANG)/.complete: tools/fetch_sglang.py tools/fetch_wheel.py | $(READY)
	@$(BIN)/python tools/fetch_sglang.py $(SGLANG)

demo: $(READY)
	@$(BIN)/python tools/demo.py

test: $(READY) $(SGLANG)/.complete
	$(PYTEST) -m 'not slow' $(ARGS)

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	@if [ -f vscode-extension/package.json ]; then $(MAKE) --no-print-directory check-extension; fi

.PHONY: check-extension
check-extension: vscode-extension/node_modules/.package-lock.json
	cd vscode-extension && npm run --silent check

.PHONY: vsix e2e
vsix: $(READY) vscode-extension/node_modules/.package-lock.json
	@node vscode-extension/scripts/package.mjs $(TARGET)

e2e: vsix
	@node vscode-extension/e2e/run.mjs $(STORIES)

vscode-extension/node_modules/.package-lock.json: vscode-extension/package-lock.json
	cd vscode-extension && npm ci --no-audit --no-fund

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(READY) $(SGLANG)/.complete
	@if ls tests/bench/*.py >/dev/null 2>&1; then $(PYTEST) -q -s tests/bench; else echo 'no benchmarks yet'; fi

# The environment's torch knows no GPU, so this runs in another Python, which needs torch and Triton alone (and
# matplotlib, for ARGS='--plot FILE').
GPU_PYTHON ?= $(PYTHON)
bench-gpu:
	@PYTHONPATH=kernel $(GPU_PYTHON) -m raiselens_kernel.scatter.bench $(ARGS)

.PHONY: test-gpu
test-gpu: $(SGLANG)/.complete
	$(GPU_PYTHON) -m pytest tests/kernel/test_on_gpu.py tests/verify/test_on_gpu.py $(ARGS)

sweep: $(READY) $(SGLANG)/.complete
	@$(BIN)/python tools/sweep.py $(ARGS)

# The sweep comes first, since it fetches the libraries that some tests read; the tests run whatever it found.
nightly: $(READY) $(SGLANG)/.complete
	@$(BIN)/python tools/sweep.py --all; swept=$$?; HYPOTHESIS_PROFILE=nightly $(PYTEST) $(ARGS) && exit $$swept

clean:
	rm -rf $(VENV) .cache .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
