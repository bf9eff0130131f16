# containerd and the kubelet: their configuration, cgroups and mounts. Sourced.
# shellcheck shell=bash

start_containerd() {
  cat >"$state/containerd.toml" <<EOF
version = 2
root = "$folder/containerd"
state = "$run/containerd"
[grpc]
  address = "$containerd_socket"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  disable_apparmor = true
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true # in a container root may lack the right to lower it
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$state/cni"
EOF
  mkdir -p "$state/cni" "$folder/containerd"
  cat >"$state/cni/10-longshore.conflist" <<EOF
{ "cniVersion": "1.0.0", "name": "longshore", "plugins": [{
  "type": "bridge", "bridge": "$bridge", "isDefaultGateway": true, "ipMasq": false,
  "ipam": { "type": "host-local", "dataDir": "$state/cni-ipam",
    "ranges": [[{ "subnet": "$pod_network", "gateway": "$node_ip" }]] } }] }
EOF
  start containerd env -u NOTIFY_SOCKET containerd -c "$state/containerd.toml"
  wait_for 60 containerd ctr -a "$containerd_socket" version
}

start_kubelet() {
  write_kubelet_configuration
  share_kubelet_root
  make_cgroups
  start kubelet "$bin/kubelet" --config "$state/kubelet.yaml" --kubeconfig "$state/node.conf" \
    --root-dir $kubelet_root --hostname-override $node --node-ip $node_ip
}

write_kubelet_configuration() {
  echo 'nameserver 127.0.0.1' >"$state/resolv.conf"
  cat >"$state/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
port: $port_kubelet
readOnlyPort: 0
healthzPort: $port_kubelet_health
failCgroupV1: false # a machine with cgroup v1 will do
failSwapOn: false
oomScoreAdj: 0
makeIPTablesUtilChains: false # else it leaves tables behind
cgroupDriver: cgroupfs
cgroupRoot: /$cgroup
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix://$containerd_socket
authentication:
  anonymous: { enabled: false }
  webhook: { enabled: true }
  x509: { clientCAFile: $keys/ca.crt }
authorization: { mode: Webhook }
tlsCertFile: $keys/kubelet.crt
tlsPrivateKeyFile: $keys/kubelet.key
resolvConf: $state/resolv.conf
evictionHard: { memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1% }
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 10s
syncFrequency: 10s
registerNode: true
volumePluginDir: $state/volume-plugins
EOF
}

# The mounts that pods see beneath hostPath volumes need a shared mount under the kubelet's folder.
share_kubelet_root() {
  awk -v p=$kubelet_root '$5 == p && /shared:/ { found = 1 } END { exit !found }' \
    /proc/self/mountinfo && return
  mount --bind $kubelet_root $kubelet_root
  mount --make-rshared $kubelet_root
}

cgroup_hierarchies() {
  local hierarchy
  if [[ -f /sys/fs/cgroup/cgroup.controllers ]]; then echo /sys/fs/cgroup; return; fi
  for hierarchy in /sys/fs/cgroup/*/; do
    if [[ -f $hierarchy/cgroup.procs ]]; then echo "${hierarchy%/}"; fi
  done
}

make_cgroups() {
  local at
  while read -r at; do
    mkdir -p "$at/$cgroup"
    # With cgroup v1 a new group of cpuset starts without processors and memory.
    if [[ -f $at/cpuset.cpus && ! -f $at/cgroup.controllers ]]; then
      cat "$at/cpuset.cpus" >"$at/$cgroup/cpuset.cpus"
      cat "$at/cpuset.mems" >"$at/$cgroup/cpuset.mems"
    fi
  done < <(cgroup_hierarchies)
}
