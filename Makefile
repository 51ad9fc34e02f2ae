# Two commands do everything on a machine with Python 3.11 or newer and make: `make demo` and `make test`.
# All paths are relative, so the folder's own path may contain spaces.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
TOOLS := .venv/tools
EVIDENCE := .venv-evidence/bin
PEERS := .venv-evidence/installed
RIVALS := .venv-peers/installed
WORKERS ?= 2
AXE_VERSION := 4.14.0
AXE := .venv/axe/package/axe.min.js
ARGS ?=

.PHONY: help demo test docs reference test-backends test-browser test-packaging screenshots torture fuzz lock check release coverage format \
    bench bench-evidence clean

help:
	@echo "make demo    install into .venv, index the example worlds, print a page with its budget and sources"
	@echo "make test    install the development tools and run every test (ARGS are passed to pytest)"
	@echo "make docs    build the docs site into site/, with every link checked, without the network"
	@echo "make reference   write docs/reference/ and the manual page anew from the code"
	@echo "make test-backends   start every engine there is and try the contracts of stores and indexes on it"
	@echo "make torture   kill, starve and damage a store for a minute or two, and count what is lost (ARGS are passed on)"
	@echo "make lock    write requirements-dev.lock anew: every development dependency with its hashes"
	@echo "make fuzz    try inputs on every parser and format for a minute (ARGS='--seconds 3600 --guided')"
	@echo "make test-browser    try the explorer in a real browser (installs Debian's chromium where there is none)"
	@echo "make test-packaging  install with pip, pipx and uv from a local index, into new environments"
	@echo "make screenshots     make the pictures of docs/explorer/ and the recording of the README"
	@echo "make check   ruff, ruff format, mypy --strict and the quick contracts, in under two minutes"
	@echo "make release VERSION=0.3.0   do everything for a release but the upload"
	@echo "make coverage   tests of the learning memory, at least 90 % of its lines"
	@echo "make format  let ruff rewrite what it can"
	@echo "make bench   measure speed and size, and ask LanceDB and tantivy the same (ARGS are passed on)"
	@echo "make bench-evidence ARGS='--data DIR'   measure evidence beside other systems, in a venv of its own"
	@echo "make clean   remove .venv and the tools' caches"

demo: $(INSTALLED)
	@$(BIN)/weft demo $(ARGS)

test: $(TOOLS)
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

docs: $(TOOLS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict $(ARGS)
	@echo "site/index.html is the first page; for its search: python -m http.server --directory site"

reference: $(TOOLS)
	PYTHONPATH=src:. $(BIN)/python -m scripts.reference
	PYTHONPATH=src $(BIN)/python scripts/man_page.py

test-backends: $(TOOLS)
	$(BIN)/python -m pytest -n $(WORKERS) --backends -k "postgres or milvus" tests/contracts tests/integration $(ARGS)

torture: $(TOOLS)
	PYTHONPATH=src:tests $(BIN)/python -m torture $(ARGS)

lock: $(TOOLS)
	$(BIN)/uv pip compile pyproject.toml --group dev --all-extras --generate-hashes --no-header --no-annotate \
	    --no-emit-index-url --quiet -o requirements-dev.lock $(ARGS)

fuzz: $(TOOLS)
	PYTHONPATH=src:tests $(BIN)/python -m fuzz $(ARGS)

test-browser: $(TOOLS) browser $(AXE)
	$(BIN)/python -m pytest --browser tests/browser $(ARGS)

test-packaging: $(TOOLS)
	$(BIN)/python -m pytest --packaging tests/packaging $(ARGS)

screenshots: $(TOOLS) browser
	$(BIN)/python scripts/explorer_screenshots.py $(ARGS)
	$(BIN)/python scripts/terminal_recording.py

.PHONY: browser shells
shells:
	@command -v zsh >/dev/null && command -v fish >/dev/null || \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends zsh fish; } || \
	    echo "zsh or fish is not at hand: the tests of completion in them are skipped"

browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null || \
	    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver; }

# axe-core checks accessibility in the browser tests; it is fetched beside the environment and never kept in the tree.
$(AXE):
	@mkdir -p .venv/axe
	@command -v npm >/dev/null && cd .venv/axe && npm pack --silent axe-core@$(AXE_VERSION) >/dev/null && tar -xzf axe-core-*.tgz || \
	    echo "npm or axe-core is not at hand: the accessibility tests are skipped"

check: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(WORKERS) tests/contracts/test_layers.py tests/contracts/test_house.py \
	    tests/contracts/test_docs.py tests/contracts/test_reference.py

release: $(TOOLS)
	$(BIN)/python scripts/release.py $(VERSION)

coverage: $(TOOLS)
	$(BIN)/python -m pytest tests/unit/memory tests/unit/assemblers/learning tests/contracts/test_seed_004.py \
	    --cov=weft.memory --cov=weft.assemblers.learning --cov-fail-under=90 --cov-report=term

format: $(TOOLS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(TOOLS) $(RIVALS)
	$(BIN)/python -m bench $(ARGS)
	PYTHONPATH=src:. $(BIN)/python -m bench.peers.run

bench-evidence: $(PEERS)
	$(EVIDENCE)/python bench/evidence/run.py $(ARGS)

clean:
	rm -rf .venv .venv-evidence .venv-peers site .mypy_cache .ruff_cache .pytest_cache .hypothesis

# The stamps are younger than pyproject.toml as long as what it asks for is installed.
$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Weft needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $(INSTALLED)

$(TOOLS): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@touch $(TOOLS)

$(PEERS): pyproject.toml bench/evidence/requirements.txt
	@test -x $(EVIDENCE)/python || $(PYTHON) -m venv .venv-evidence
	$(EVIDENCE)/python -m pip install --quiet --disable-pip-version-check -r bench/evidence/requirements.txt --editable .
	@touch $(PEERS)

$(RIVALS): bench/peers/requirements.txt
	@test -x .venv-peers/bin/python || $(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check -r bench/peers/requirements.txt
	@touch $(RIVALS)
