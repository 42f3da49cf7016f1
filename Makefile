# Two commands do everything on a machine that has only Python: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
# An environment is ready when its stamp is newer than the files it was made from.
READY := .venv/ready
DEV_READY := .venv/dev-ready
CODE := src tests experiments examples docs

.PHONY: demo test check format docs bench accept clean

demo: $(READY)
	$(BIN)/kanerva demo

test: $(DEV_READY)
	$(BIN)/pytest

check: $(DEV_READY)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/pyright
	$(BIN)/pytest

format: $(DEV_READY)
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

# The documentation as a folder of pages that open without a server: site/index.html.
docs: $(DEV_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "documentation: site/index.html"

bench: $(READY)
	$(BIN)/kanerva bench

# Long measurements of what the store and the playground promise; they take about fifteen minutes.
# The playground needs chromium.
accept: $(DEV_READY)
	$(BIN)/python experiments/store_acceptance.py
	$(BIN)/python experiments/store_recall.py
	$(BIN)/python experiments/play_acceptance.py

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis runs site

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(DEV_READY): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
