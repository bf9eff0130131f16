# What is not Deno's own: the set-up of a machine, the test servers, the binary. `make help` lists it.
export PATH := $(CURDIR)/node_modules/.bin:$(PATH)
export DENO_NO_UPDATE_CHECK := 1
export RUST_BACKTRACE := 0
export RUST_MIN_STACK := 16777216

sources := main.ts deno.json package.json \
  $(shell find cmd lib -name '*.ts' -not -name '*_test.ts') \
  $(addprefix build/,build.mjs node_globals.mjs fetch-denort)

# Whose CRDs `make test` uses besides ours, and the tests that read and write Velero's objects.
velero_versions := v1.15.2 v1.16.2 v1.17.2 v1.18.3
object_tests := $(addprefix tests/e2e/,$(addsuffix _test.ts,backup cancel leftovers \
  mark_stale_command odd_objects restore restore_end)) \
  $(addprefix tests/integration/movement_,claim_test.ts status_test.ts)

.DEFAULT_GOAL := help
.PHONY: help demo test build image e2e bench ok tools clean prerequisites

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-8s%s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: build ## back up and restore pod volumes for real, compare, play an operator (KEEP=1 leaves it up)
	@tests/tools/tool etcd kube-apiserver kopia >/dev/null
	@deno run --allow-all tests/demo/demo.ts

test: build tools ## all tests; closes with "N passed, N failed, N skipped"
	@node build/test.mjs run deno task static \
	  -- --parallel --trace-leaks lib cmd tests/layers_test.ts tests/manifests_test.ts \
	  -- DENO_JOBS=2 --parallel --trace-leaks tests/integration \
	  $(addprefix -- DENO_JOBS=2 --parallel --trace-leaks ,$(wildcard tests/e2e)) \
  $(foreach version,$(velero_versions), \
    -- LONGSHORE_CRDS=$(version) DENO_JOBS=2 --parallel --trace-leaks $(object_tests))

build: dist/longshore ## dist/longshore, only when sources changed

image: build ## dist/longshore-image.tar, an OCI archive, without a container engine (Debian)
	@build/image

e2e: node_modules/.installed ## our image in stock Velero DaemonSets on a real node (root; VELERO=v1.16.2)
	@tests/velero/e2e

bench: build tools ## measure the binary against bare kopia: a table, and JSON (ONLY=queue,start)
	@deno run --allow-all tests/bench/bench.ts

ok: node_modules/.installed ## the gate of a change: format, lint, types, layers, unit tests
	@deno task ok

tools: prerequisites ## the programs that tests run against; built once, some minutes
	@tests/tools/tool etcd kube-apiserver kopia restic versitygw cnssim velero-v1.15.2 >/dev/null
	@tests/tools/velero_crds $(velero_versions) >/dev/null

clean: ## remove what was built here (not the cache of tools)
	rm -rf dist coverage node_modules

dist/longshore: node_modules/.installed $(sources)
	@node build/build.mjs

node_modules/.installed: package-lock.json | prerequisites
	@echo "installing the npm packages"
	@npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

prerequisites:
	@build/prerequisites
