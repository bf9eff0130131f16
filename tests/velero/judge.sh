# What the checks say and count, and how they drive Velero's command line. Sourced.
# shellcheck shell=bash

passed=0 failed=0
ok() { passed=$((passed + 1)); echo "ok   $*"; }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }
equal() { # WHAT FOUND WANTED
  if [[ $2 == "$3" ]]; then ok "$1: $2"; else bad "$1: $2, not $3"; fi
}
identical() { # WHAT FILE FILE
  if cmp -s "$2" "$3"; then ok "$1 is identical ($(grep -c . "$2") lines)"; return; fi
  bad "$1 differs"
  diff "$2" "$3" | head -8 | cat -v | cut -c1-200 | sed 's/^/       /' || true
}

# With --wait it would wait for hours for an agent that does nothing.
velero() { HOME=$work timeout --foreground 600 "$work/velero" --features=EnableCSI "$@"; }
phase_of() { in_velero get "$1" "$2" -o jsonpath='{.status.phase}'; }

start_backup() { # NAME NAMESPACE [FLAG...]
  velero backup create "$1" --include-namespaces "$2" --default-volumes-to-fs-backup \
    --snapshot-volumes=false "${@:3}" >"$work/$1.out" 2>&1 || true
}

backup() { # NAME NAMESPACE
  local began; began=$(milliseconds)
  start_backup "$1" "$2" --wait
  ended backup "$1" "$began"
}

restore() { # NAME BACKUP
  local began; began=$(milliseconds)
  velero restore create "$1" --from-backup "$2" --wait >"$work/$1.out" 2>&1 || true
  ended restore "$1" "$began"
}

ended() { # KIND NAME BEGAN
  local phase; phase=$(phase_of "$1" "$2" || true)
  equal "$1 $2 ($(($(milliseconds) - $3)) ms)" "$phase" Completed
  show_phases "$2"
  if [[ $phase != Completed ]]; then
    explain "$2"
    tail -n 5 "$work/$2.out" | sed 's/^/       /'
  fi
}

count() { # KIND LABEL: "2 Completed, 1 Failed"
  in_velero get "$1" -l "$2" -o jsonpath='{range .items[*]}{.status.phase}{"\n"}{end}' | sort |
    uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }'
}

explain() { # NAME of a backup or restore: what its objects say
  in_velero get podvolumebackups,podvolumerestores -o jsonpath='{range .items[*]}{.kind} {.metadata.name} {.status.phase}: {.status.message}{"\n"}{end}' |
    awk -v name="$1-" 'index($2, name) == 1' | grep -v 'Completed: $' | cut -c1-400 |
    sed 's/^/       /' || true
}

until_running() { # KIND LABEL: until one is InProgress
  local try
  for ((try = 0; try < 300; try++)); do
    if [[ $(count "$1" "$2") == *InProgress* ]]; then return; fi
    sleep 0.1
  done
  return 1
}

until_ended() { # KIND LABEL: until all have a final phase, two and a half minutes at most
  local try phases
  for ((try = 0; try < 300; try++)); do
    phases=$(count "$1" "$2")
    if [[ $phases && ! $phases =~ New|Accepted|Prepared|InProgress|Canceling|[0-9]\ *(,|$) ]]; then
      echo "$phases"
      return
    fi
    sleep 0.5
  done
  echo "not ended: $phases"
}

final_phase() { # BACKUP: waits a minute for it
  local try phase
  for ((try = 0; try < 120; try++)); do
    phase=$(phase_of backup "$1")
    case $phase in Completed | PartiallyFailed | Failed | FailedValidation) break ;; esac
    sleep 0.5
  done
  echo "$phase"
}

another_agent() { # POD: until another one runs
  local try pod
  for ((try = 0; try < 300; try++)); do
    pod=$(agent_pod 2>/dev/null || true)
    if [[ $pod && $pod != "$1" ]]; then
      in_velero wait --for=condition=Ready "pod/$pod" --timeout=60s >/dev/null
      return
    fi
    sleep 0.1
  done
  return 1
}

nothing_left() { # of the data path, in Velero's namespace and in the cluster
  local try found
  for ((try = 0; try < 60; try++)); do
    found=$(in_velero get pods,pvc -o name | grep -vE '^pod/(velero|node-agent)-|maintain-job' || true
      kubectl get volumesnapshots -A -o name)
    if [[ -z $found ]]; then ok "nothing is left over"; return; fi
    sleep 0.5
  done
  bad "left over: $(echo "$found" | tr '\n' ' ')"
}
