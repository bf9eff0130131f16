# Volumes and snapshots: our CSI driver with the controllers of kubernetes-csi. Sourced.
# shellcheck shell=bash

# The driver is copied out, for its packages to lie beside it; the protocols and the definitions of
# the snapshot objects come out of the Go modules that the other programs are built from.
prepare_storage() {
  local to=$folder/csi csi=$project/tests/tools/csi
  mkdir -p "$to/crds"
  if ! cmp -s "$here/csi/package-lock.json" "$to/package-lock.json"; then
    say "installing the npm packages of the CSI driver"
    cp "$here/csi/package.json" "$to/"
    (cd "$to" && rm -rf node_modules && cp "$here/csi/package-lock.json" . &&
      npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) || {
      rm -f "$to/package-lock.json"
      die "installing the CSI driver's packages failed"
    }
  fi
  cp "$here"/csi/*.mjs "$to/"
  module_folder "$csi" github.com/container-storage-interface/spec
  install -m 644 "$found/csi.proto" "$to/csi.proto"
  module_folder "$csi" github.com/kubernetes-csi/external-snapshotter/client/v8
  install -m 644 "$found"/config/crd/snapshot.storage.*.yaml "$to/crds/"
  module_folder "$project/tests/tools/kubernetes" k8s.io/kubelet
  install -m 644 "$found/pkg/apis/pluginregistration/v1/api.proto" "$to/registration.proto"
}

module_folder() { # FOLDER MODULE: sets $found to where Go keeps the module's files
  found=$(cd "$1" && go mod download -json "$2" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  [[ -d $found ]] || die "Go has no module $2"
}

start_storage() {
  kube apply -f "$folder/csi/crds" -f "$here/csi/classes.yaml" >/dev/null
  start csi-driver env CSI_NAME=$csi_name CSI_NODE=$node CSI_DATA="$state/csi" \
    CSI_SOCKET=$csi_socket REGISTRATION_SOCKET=$kubelet_root/plugins_registry/$csi_name-reg.sock \
    node "$folder/csi/driver.mjs"
  wait_for 60 "the CSI driver" test -S $csi_socket
  start csi-provisioner env POD_NAMESPACE=kube-system "$bin/csi-provisioner" \
    --csi-address $csi_socket --kubeconfig "$state/admin.conf" --default-fstype ext4 \
    --feature-gates Topology=false --extra-create-metadata
  start snapshot-controller "$bin/snapshot-controller" --kubeconfig "$state/admin.conf"
  start csi-snapshotter "$bin/csi-snapshotter" --csi-address $csi_socket \
    --kubeconfig "$state/admin.conf"
  wait_for 60 "the snapshot API" kube get --raw /apis/snapshot.storage.k8s.io/v1
  kube apply -f "$here/csi/snapshot_class.yaml" >/dev/null
}
