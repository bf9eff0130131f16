# What a run measures: the agent's memory, and when each object came to which phase. Sourced.
# shellcheck shell=bash

agent_pod() {
  in_velero get pods -l name=node-agent --field-selector=status.phase=Running \
    -o jsonpath='{.items[0].metadata.name}'
}

agent_processes() { # their ids on the node, without that of the pause container
  local uid pid
  uid=$(in_velero get pod "$(agent_pod)" -o jsonpath='{.metadata.uid}')
  for pid in $(find /sys/fs/cgroup -path "*pod$uid*" -name cgroup.procs -exec cat {} + 2>/dev/null |
    sort -un); do
    grep -qa '^/bin/busybox.sleep.inf' "/proc/$pid/cmdline" || echo "$pid"
  done
}

agent_memory() { # resident now and at its peak, of all its processes
  local pid now=0 peak=0 ticks=0
  for pid in $(agent_processes); do
    now=$((now + $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")))
    peak=$((peak + $(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status")))
    ticks=$((ticks + $(sed 's/.*) //' "/proc/$pid/stat" | awk '{ print $12 + $13 }')))
  done
  echo "$((now / 1024)) MiB, peak $((peak / 1024)) MiB, CPU $((ticks * 10)) ms"
}

watchers=()
watch_phases() { # a line of $work/phases for each change: MILLISECONDS KIND NAME PHASE
  local kind name phase
  : >"$work/phases"
  for kind in podvolumebackups podvolumerestores; do
    # Called by itself: behind a function kubectl would outlive the subshell.
    kubectl -n velero get $kind -w \
      -o jsonpath='{.metadata.name} {.status.phase}{"\n"}' 2>/dev/null > >(
        while read -r name phase; do
          echo "$(milliseconds) $kind $name ${phase:-New}"
        done >>"$work/phases"
      ) &
    watchers+=($!)
  done
}

unwatch() {
  local pid
  for pid in "${watchers[@]}"; do kill "$pid" 2>/dev/null || true; done
  watchers=()
}

# The phases of each object of a backup or restore, in seconds since it was seen.
show_phases() { # NAME
  awk -v name="$1-" '
    index($3, name) == 1 {
      if (!($3 in began)) { began[$3] = $1; order[++count] = $3 }
      if (last[$3] != $4) text[$3] = text[$3] sprintf(" %s %.1f", $4, ($1 - began[$3]) / 1000)
      kind[$3] = $2; last[$3] = $4
    }
    END { for (i = 1; i <= count; i++) printf "     %s:%s\n", kind[order[i]], text[order[i]] }
  ' "$work/phases"
}
