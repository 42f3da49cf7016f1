# Two commands do everything on a machine that has only Python: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Ready when its stamp is newer than what it was made from.
READY := .venv/ready
DEV_READY := .venv/dev-ready

.PHONY: demo test check format bench clean

demo: $(READY)
	$(BIN)/kanerva demo

test: $(DEV_READY)
	$(BIN)/pytest

check: $(DEV_READY)
	$(BIN)/ruff format --check src tests experiments
	$(BIN)/ruff check src tests experiments
	$(BIN)/pyright
	$(BIN)/pytest

format: $(DEV_READY)
	$(BIN)/ruff format src tests experiments
	$(BIN)/ruff check --fix src tests experiments

bench: $(READY)
	$(BIN)/kanerva bench

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis runs

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(DEV_READY): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
