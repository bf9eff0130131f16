# The application that is backed up: a pod with an emptyDir and a CSI volume, and one with a block
# volume. The pods write nothing, so that a restore starts empty; the volumes are filled and compared
# from the node. Sourced.
# shellcheck shell=bash

make_application() { # NAMESPACE [without-block]
  kubectl create ns "$1" >/dev/null
  kubectl -n "$1" wait --for=create sa/default --timeout=60s >/dev/null
  kubectl -n "$1" apply -f "$here/application.yaml" >/dev/null
  [[ ${2:-} == without-block ]] || kubectl -n "$1" apply -f "$here/block_volume.yaml" >/dev/null
  pods_ready "$1"
}

pods_ready() { # NAMESPACE
  kubectl -n "$1" wait --for=condition=Ready pod --all --timeout=90s >/dev/null
}

remove_application() { kubectl delete ns "$1" --timeout=120s >/dev/null; }

volume_folder() { # NAMESPACE claim|empty: where it lies on the node
  local uid volume pods=$CLUSTER_KUBELET_ROOT/pods
  uid=$(kubectl -n "$1" get pod writer -o jsonpath='{.metadata.uid}')
  if [[ $2 == empty ]]; then echo "$pods/$uid/volumes/kubernetes.io~empty-dir/empty"; return; fi
  volume=$(kubectl -n "$1" get pvc files -o jsonpath='{.spec.volumeName}')
  echo "$pods/$uid/volumes/kubernetes.io~csi/$volume/mount"
}

fill() { # FOLDER WORD: some 330 files with unpleasant names, modes, owners, links and times
  local at=$1 number
  mkdir -p "$at/many" "$at/deep/a/b/c/d/e/f/g/h" "$at/empty dir" "$at/mode700" "$at/setgid"
  for ((number = 0; number < 300; number++)); do
    printf 'file %s %s\n' $number "$2" >"$at/many/f$number"
  done
  echo leaf >"$at/deep/a/b/c/d/e/f/g/h/leaf"
  unpleasant_names "$at"
  : >"$at/empty"
  head -c 5000000 /dev/urandom >"$at/five-megabytes"
  echo setuid >"$at/setuid"; chmod 4755 "$at/setuid"
  echo none >"$at/mode000"; chmod 0 "$at/mode000"
  chmod 700 "$at/mode700"; chmod 2775 "$at/setgid"
  echo owned >"$at/owned"; chown 1234:5678 "$at/owned"; ln "$at/owned" "$at/hardlink"
  echo old >"$at/old"; touch -d '2001-02-03 04:05:06.789012345Z' "$at/old"
  ln -s five-megabytes "$at/link"
  ln -s /nowhere/at/all "$at/dangling"
  ln -s ../.. "$at/deep/up"
  # Whole microseconds: kopia rounds the time of a link to them.
  touch -h -d '2012-03-04 05:06:07.250001Z' "$at/link" "$at/dangling" "$at/deep/up"
  chown 1000:2000 "$at/many"
  touch -d '2010-01-01 00:00:00Z' "$at/empty dir"
}

unpleasant_names() {
  local name
  for name in 'with space' $'new\nline' $'tab\t' "quote\"'\`\$(x)" -rf '*?[a]' 'grüße-日本語-😀' \
    'back\slash' .hidden "$(printf 'n%.0s' {1..250})"; do
    echo "$name" >"$1/$name"
  done
}

# A line for each entry: type, mode, owner, time, size, target of a link, content. The time of
# a folder is left out: kopia brings it back as that of the newest entry below. So is .velero: the
# restore helper, which is not root, cannot remove it.
describe_volume() { # FOLDER
  (
    cd "$1"
    find . -mindepth 1 -path ./.velero -prune -o -mindepth 1 \( \
      -type d -printf '%y %#m %U:%G %p\0' -o -type f -printf '%y %#m %U:%G %T@ %s %p\0' -o \
      -printf '%y %#m %U:%G %T@ %l %p\0' \) | sort -z
    find . -path ./.velero -prune -o -type f -print0 | sort -z | xargs -0 sha256sum -z
    stat -c '%a %u:%g' .
  ) | tr '\0\n' '\n?'
}
