# What the parts of this folder share. Needs a running cluster. Sourced.
# shellcheck shell=bash

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
cluster=$project/tests/cluster/cluster

say() { echo "velero: $*" >&2; }
die() { say "$*"; exit 1; }
enter_cluster() {
  local variables
  variables=$("$cluster" env) || exit 1
  eval "$variables"
  work=$CLUSTER_STATE/velero
}
in_velero() { kubectl -n velero "$@"; }
milliseconds() { date +%s%3N; }
