# What every part of the cluster knows: names, folders, addresses. Sourced.
# shellcheck shell=bash disable=SC2034

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
folder=${LONGSHORE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/longshore}/cluster
kubelet_root=/var/lib/kubelet
csi_name=hostpath.csi.test
node=node-1

bridge=longshore0
network=10.123
node_ip=$network.0.1
pod_network=$network.0.0/24
service_network=$network.96.0/20
service_ip=$network.96.1

# The path of a socket must stay short, so sockets have a folder of their own.
tag=$(printf %s "$folder" | sha256sum | cut -c1-8)
run=/run/longshore-cluster-$tag
containerd_socket=$run/containerd.sock
cgroup=longshore-cluster-$tag

bin=$folder/bin
state=$folder/state
logs=$state/log
keys=$state/keys
csi_socket=$kubelet_root/plugins/$csi_name/csi.sock

programs=(etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl
  csi-provisioner csi-snapshotter snapshot-controller versitygw)
packages=(containerd runc containernetworking-plugins busybox-static nftables)

say() { echo "cluster: $*" >&2; }
die() { say "$*"; exit 1; }
kube() { "$bin/kubectl" --kubeconfig "$state/admin.conf" "$@"; }
images() { ctr -a "$containerd_socket" -n k8s.io images "$@"; }
