.DEFAULT_GOAL := help
PYTHON ?= python3
# The default interpreter has .venv, every other one an environment of its own.
ifeq ($(PYTHON),python3)
VENV := .venv
else
INTERPRETER := $(shell .ci/find-python $(PYTHON))
ifeq ($(INTERPRETER),)
$(error PYTHON=$(PYTHON) cannot be used)
endif
VENV := .venv-$(shell $(INTERPRETER) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif
BIN := $(VENV)/bin
export MPLBACKEND := Agg
# Where bytecode is not kept, each of the many processes that tests start compiles bgsub for itself.
export PYTHONDONTWRITEBYTECODE :=
# Tests run in as many processes as there are cores; a process that is done takes over from the others.
# Several threads in each of them would wait for one another, and spin while they do.
ONE_THREAD := OPENBLAS_NUM_THREADS=1 OPENCV_FOR_THREADS_NUM=1
SIDE_BY_SIDE := -n auto --maxprocesses 8 --dist worksteal

.PHONY: help demo train test test-browser test-servers test-cluster test-lowest test-older test-readers fuzz fuzz-parsers check format lock locked wheel sbom pictures notebook bench bench-quick bench-masks bench-flags bench-growth bench-memory bench-long bench-tracks clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(BIN)/python:
	$(or $(INTERPRETER),$(PYTHON)) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,check]'
	@touch $@

demo: $(VENV)/.installed  ## run bgsub on the sample video (PYTHON=python3.13: with another interpreter)
	$(BIN)/bgsub run sample_videos/water.avi --k 10 --out results/ --force
	$(BIN)/bgsub errors results/

test: $(VENV)/.installed-dev  ## run the tests (PYTHON=python3.13: with another interpreter)
	$(ONE_THREAD) $(BIN)/python -m pytest $(SIDE_BY_SIDE)

# The oldest releases of what pyproject.toml names, and what these bring along as it is today: the
# bounds of other projects are theirs. NumPy 2.0 and its contemporaries have no wheels for later
# interpreters.
LOWEST := .venv-lowest

$(LOWEST)/.installed: pyproject.toml
	$$(.ci/find-python python3.11) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct --only-binary :all: --no-annotate \
		--python $(LOWEST)/bin/python --extra test pyproject.toml --output-file $(LOWEST)/requirements.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --requirements $(LOWEST)/requirements.txt
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python --no-deps --editable .
	@touch $@

test-lowest: $(LOWEST)/.installed  ## run the tests with the oldest allowed release of every dependency
	@cat $(LOWEST)/requirements.txt
	@# Old releases use what their dependencies have since declared obsolete.
	$(ONE_THREAD) $(LOWEST)/bin/python -m pytest $(SIDE_BY_SIDE) -W default::DeprecationWarning

# Libraries choose code by the processor, and round in other ways with it. NumPy warns of a name that
# the processor lacks: to be called on one with AVX-512.
OLDER := OPENBLAS_CORETYPE=Sandybridge OPENCV_CPU_DISABLE=AVX512-SKX,AVX2 \
	NPY_DISABLE_CPU_FEATURES="AVX512_SPR AVX512_ICL X86_V4 X86_V3"

test-older: $(VENV)/.installed-dev  ## run the tests as on a processor without AVX2
	$(OLDER) $(ONE_THREAD) $(BIN)/python -m pytest $(SIDE_BY_SIDE)

# What exports are read by is large and has needs of its own.
READERS := .venv-readers

$(READERS)/.installed: pyproject.toml
	$(or $(INTERPRETER),$(PYTHON)) -m venv $(READERS)
	$(READERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[test,export,readers]'
	@touch $@

test-readers: $(READERS)/.installed  ## run the tests of exports, and of the README, with the programs that read them
	OPENBLAS_NUM_THREADS=1 $(READERS)/bin/python -m pytest tests/export tests/test_readme.py tests/robustpca/test_conventions.py -W default

test-browser: $(VENV)/.installed-dev  ## run the page in headless Chromium (BROWSER=...; says what to install)
	@$(BIN)/python -m tests.browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/browser -m browser

test-servers: $(VENV)/.installed-dev  ## bgsub watch and the servers of ffmpeg and GStreamer (what is not there is skipped, and said)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/live -m servers -rs -n 3

$(VENV)/.installed-cluster: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,cluster,zarr]' 'dask[array]'
	@touch $@

test-cluster: $(VENV)/.installed-cluster  ## run films and segments on a Dask cluster of two processes, one of which is killed
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/cluster -m cluster

TRAINING ?= training/work
MINUTES ?= 120
PICTURES ?=
FOLDS ?=

$(VENV)/.installed-train: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	@touch $@

train: $(VENV)/.installed-train  ## footage to bgsub/segmenter/mask.onnx; goes on where it was stopped (DATA=folder, MINUTES=, PICTURES=folder, FOLDS=1: a network without each group of scenes, too)
	$(BIN)/python -m training.prepare $(DATA) $(TRAINING)/examples
	@# In sets by groups of scenes, so that what was made of a scene can be left out with it.
	for groups in roads,lights rooms,nature people,thermal; do \
		OPENBLAS_NUM_THREADS=1 $(BIN)/python -m training.prepare $(DATA) $(TRAINING)/examples --made 140 --seed 11 \
			--groups $$groups $(if $(PICTURES),--pictures $(PICTURES)) || exit 1; done
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m training.train $(TRAINING)/examples $(TRAINING)/weights.pt --minutes $(MINUTES) \
		$(if $(FOLDS),--folds)
	$(BIN)/python -m training.export $(TRAINING)/weights.pt bgsub/segmenter/mask.onnx
	$(BIN)/python -m training.curves $(TRAINING)/weights.jsonl $(TRAINING)/curves.png

FUZZ_SEED ?= 1
FUZZ_TRIES ?= 1000
FUZZ_PARTS ?=

fuzz: $(VENV)/.installed-dev  ## try damaged inputs, strange options, kills and full disks (FUZZ_SEED=, FUZZ_TRIES=, FUZZ_PARTS=)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(FUZZ_PARTS) --seed $(FUZZ_SEED) --tries $(FUZZ_TRIES)

$(VENV)/.installed-fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,fuzz]'
	@touch $@

fuzz-parsers: $(VENV)/.installed-fuzz  ## the same for the parsers, guided by what their code does
	$(BIN)/python -m tests.fuzz.guided --seed $(FUZZ_SEED) --tries $(FUZZ_TRIES)

check: $(VENV)/.installed-dev  ## ruff, ruff format and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict

# uv and the maker of SBOMs are tools beside the project, in an environment of their own.
TOOLS := .venv-tools
RELEASE := .venv-release

$(TOOLS)/.installed:
	$(PYTHON) -m venv --clear $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check uv 'cyclonedx-bom>=7'
	@touch $@

lock: $(TOOLS)/.installed  ## write requirements-dev.lock anew: the newest releases, with hashes
	$(TOOLS)/bin/uv pip compile --quiet --universal --upgrade --generate-hashes \
		--custom-compile-command 'make lock' --extra test --extra check pyproject.toml \
		--output-file requirements-dev.lock

locked: $(BIN)/python  ## install what requirements-dev.lock lists into .venv, each file by its hash
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		--requirement requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(VENV)/.installed $(VENV)/.installed-dev

wheel: $(TOOLS)/.installed  ## build the wheel into dist/
	rm -rf dist
	$(TOOLS)/bin/uv build --quiet --wheel --out-dir dist

sbom: wheel  ## list what the wheel installs in dist/*.cdx.json (CycloneDX, made by cyclonedx-py)
	$(PYTHON) -m venv --clear --without-pip $(RELEASE)
	$(TOOLS)/bin/uv pip install --quiet --python $(RELEASE)/bin/python dist/*.whl
	@# Where the wheel lay on the machine that built it is nobody's business.
	@rm -f $(RELEASE)/lib/python*/site-packages/bgsub-*.dist-info/direct_url.json
	$(TOOLS)/bin/cyclonedx-py environment --output-reproducible \
		--output-file "dist/$$(basename dist/*.whl .whl).cdx.json" $(RELEASE)/bin/python

format: $(VENV)/.installed-dev  ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pictures: demo  ## make the pictures of the README from the demo's results
	$(BIN)/python -m benchmarks.pictures results images

notebook: $(VENV)/.installed-dev  ## run the notebook of examples/ and store it with what it shows today
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[browser]'
	cd examples && env -u MPLBACKEND $(abspath $(BIN))/python -c "import nbformat; from nbclient import NotebookClient; \
		book = nbformat.read('tracks.ipynb', 4); NotebookClient(book, record_timing=False).execute(); \
		nbformat.write(book, 'tracks.ipynb')"

bench: $(VENV)/.installed-dev  ## run the benchmarks (BENCH_VIDEO=... for footage of yours)
	$(BIN)/python -m benchmarks

bench-quick: $(VENV)/.installed-dev  ## the ratios that must not grow, beside those of the last release, in under five minutes
	$(BIN)/python -m benchmarks --quick

bench-tracks: $(READERS)/.installed  ## IDF1 and MOTA of tracks on known scenes (DATA=folder)
	$(READERS)/bin/python -W ignore -m benchmarks.tracks $(DATA)

bench-masks: bench-run-masks  ## F-measure of masks beside classical subtractors (DATA=folder)
bench-flags: bench-run-flags  ## what frame flags see, and are quiet about (DATA=folder)
bench-growth: bench-run-growth  ## chart of time against frames and pixels
bench-memory: bench-run-memory  ## estimated against measured peak memory

# Every script of benchmarks/ has a target: bench-run-plates, bench-run-sensitivity, …; DATA holds its arguments.
bench-run-%: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.$* $(DATA)

bench-long: $(VENV)/.installed-dev  ## what segments cost beside one fit, and how masks jump at their borders
	$(BIN)/python -m benchmarks.segments

clean:  ## remove what the other targets made
	rm -rf .venv .venv-* results build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
