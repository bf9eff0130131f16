# The checks. Each makes an application of its own and leaves nothing behind. Sourced.
# shellcheck shell=bash

# Backup, removal, restore, comparison; then a second backup of what was restored.
check_fs() {
  local namespace=fs-$RANDOM volume
  make_application $namespace
  for volume in claim empty; do
    fill "$(volume_folder $namespace $volume)" "$volume"
    describe_volume "$(volume_folder $namespace $volume)" >"$work/$volume.before"
  done
  backup $namespace-first $namespace
  equal "its PodVolumeBackups" \
    "$(count podvolumebackups velero.io/backup-name=$namespace-first)" "2 Completed"
  remove_application $namespace
  restore $namespace-back $namespace-first
  equal "its PodVolumeRestores" \
    "$(count podvolumerestores velero.io/restore-name=$namespace-back)" "2 Completed"
  if pods_ready $namespace; then
    for volume in claim empty; do
      describe_volume "$(volume_folder $namespace $volume)" >"$work/$volume.after"
      identical "the restored volume \"$volume\"" "$work/$volume.before" "$work/$volume.after"
    done
    backup $namespace-second $namespace # a new pod, so another path
  else
    bad "the restored pods do not get ready"
    kubectl -n $namespace get pods,pvc | sed 's/^/       /'
  fi
  remove_application $namespace
  nothing_left
}

# The agent's pod is deleted while a volume is read. How the backup ends is printed; that it ends, and
# that the next agent works, is what counts.
check_kill() {
  local namespace=kill-$RANDOM folder name pod began outcome
  name=$namespace-cut
  make_application $namespace without-block
  folder=$(volume_folder $namespace claim)
  head -c 700M /dev/urandom >"$folder/big"
  start_backup $name $namespace
  if until_running podvolumebackups velero.io/backup-name=$name; then
    sleep 1
    began=$(milliseconds) pod=$(agent_pod)
    in_velero delete pod "$pod" --wait=false >/dev/null
    another_agent "$pod"
    echo "     another agent runs $(($(milliseconds) - began)) ms after the deletion"
    outcome=$(until_ended podvolumebackups velero.io/backup-name=$name)
    case $outcome in
      "not ended"*) bad "the PodVolumeBackups after the agent was deleted: $outcome" ;;
      *) ok "the PodVolumeBackups after the agent was deleted: $outcome" ;;
    esac
    explain $name
    show_phases $name
    outcome=$(final_phase $name)
    case $outcome in
      Completed | PartiallyFailed | Failed)
        ok "the backup ends $outcome, $(($(milliseconds) - began)) ms after the deletion" ;;
      *) bad "the backup does not end: $outcome" ;;
    esac
  else
    bad "no PodVolumeBackup came to InProgress"
    explain $name
  fi
  rm -f "$folder/big"
  echo small >"$folder/small"
  backup $namespace-after $namespace
  remove_application $namespace
  nothing_left
}

# A process that loses its parent in the agent's container must not stay as a zombie.
check_orphans() {
  local first pid try
  for pid in $(agent_processes); do
    if grep -qE '^NSpid:.*\s1$' "/proc/$pid/status"; then first=$pid; fi
  done
  nsenter --target "$first" --pid sh -c '(sleep 0.2 &)'
  for ((try = 0; try < 50; try++)); do
    if [[ -z $(sleeping_children "$first") ]]; then ok "an orphan is reaped"; return; fi
    sleep 0.1
  done
  bad "an orphan stays as a zombie: $(sleeping_children "$first")"
}

sleeping_children() { # PID: those named sleep, dead or alive; others may end while this looks
  grep -lsE "^PPid:\s$1\$" /proc/[0-9]*/status | xargs -r grep -lsE '^Name:\ssleep' || true
}
