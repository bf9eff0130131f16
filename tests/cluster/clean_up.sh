# Takes a cluster away, also one whose processes were killed: it goes by cgroups, sockets and mounts
# and not only by what it noted when it started them. Sourced.
# shellcheck shell=bash

clean_up() {
  local name
  for name in csi-provisioner csi-snapshotter snapshot-controller scheduler controller-manager \
    kubelet containerd; do stop $name; done
  end_pods
  for name in csi-driver s3 apiserver etcd; do stop $name; done
  detach_loop_devices
  unmount_all
  local at
  while read -r at; do
    [[ ! -d $at/$cgroup ]] ||
      find "$at/$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
  done < <(cgroup_hierarchies)
  restore_kernel_settings
  network_down
  # What is still bound there may be anything of this machine.
  local left; left=$(mounted | grep -vxF $kubelet_root || true)
  [[ -z $left ]] || die "nothing is deleted, for these are still mounted: ${left//$'\n'/, }"
  rm -rf "$state" "$run" "$folder/containerd" "$folder"/.image-*
  if [[ -f $kubelet_root/.longshore ]]; then
    find $kubelet_root -xdev -mindepth 1 -delete 2>/dev/null || true
  fi
}

# The processes of pods are those in our cgroup; their shims were started for our socket.
end_pods() {
  local try pid found
  for ((try = 0; try < 30; try++)); do
    found=
    for pid in $(pod_processes; shims); do
      kill -KILL "$pid" 2>/dev/null && found=yes
    done
    [[ $found ]] || return 0
    sleep 0.1
  done
}

pod_processes() {
  local at
  while read -r at; do
    [[ ! -d $at/$cgroup ]] ||
      find "$at/$cgroup" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done < <(cgroup_hierarchies) | sort -un
}

shims() {
  grep -lsaF containerd-shim /proc/[0-9]*/cmdline |
    xargs -r grep -lsaF -- "$containerd_socket" | cut -d/ -f3 || true
}

detach_loop_devices() { # the kubelet's own first: each stands on one of the driver's
  local below device
  for below in $kubelet_root/ "$state/csi/"; do
    for device in $(losetup -l -n -O NAME,BACK-FILE 2>/dev/null |
      awk -v p="$below" 'index($2, p) == 1 { print $1 }'); do
      losetup -d "$device" 2>/dev/null || true
    done
  done
}

unmount_all() { # deepest first
  local at
  while read -r at; do umount -l "$at" 2>/dev/null || true; done < <(mounted | sort -r)
}

mounted() { # below the folders that are ours; the kernel writes a space as \040
  local below at
  for below in $kubelet_root "$run" "$state" "$folder/containerd"; do
    awk -v p="$below" '$5 == p || index($5, p "/") == 1 { print $5 }' /proc/self/mountinfo
  done | while read -r at; do printf '%b\n' "$at"; done
}
