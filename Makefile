.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export MPLBACKEND := Agg

.PHONY: help demo test check format pictures bench bench-masks bench-pieces bench-growth bench-memory clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	@touch $@

demo: $(VENV)/.installed  ## install bgsub and run it on the sample video
	$(BIN)/bgsub run sample_videos/water.avi --k 10 --out results/ --force
	$(BIN)/bgsub errors results/

test: $(VENV)/.installed-dev  ## run the tests
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

check: $(VENV)/.installed-dev  ## ruff, ruff format and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

format: $(VENV)/.installed-dev  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pictures: demo  ## make the pictures of the README from the demo's results
	$(BIN)/python -m benchmarks.pictures results images

bench: $(VENV)/.installed-dev  ## run the benchmarks (BENCH_VIDEO=... for footage of yours)
	$(BIN)/python -m benchmarks

bench-growth: $(VENV)/.installed-dev  ## chart of time against frames and pixels
	$(BIN)/python -m benchmarks.growth

bench-masks: $(VENV)/.installed-dev  ## F-measure of masks beside classical subtractors (DATA=folder)
	$(BIN)/python -m benchmarks.masks $(DATA)

bench-pieces: $(VENV)/.installed-dev  ## what each piece of the local masks brings (DATA=folder)
	$(BIN)/python -m benchmarks.pieces $(DATA)

bench-memory: $(VENV)/.installed-dev  ## estimated against measured peak memory
	$(BIN)/python -m benchmarks.memory

clean:  ## remove what the other targets made
	rm -rf $(VENV) results build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
