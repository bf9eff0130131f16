# The node's network: one bridge, whose address is the node's, and four rules in place of
# kube-proxy. Sourced.
# shellcheck shell=bash

network_up() {
  ip link show $bridge >/dev/null 2>&1 || ip link add $bridge type bridge
  ip addr show dev $bridge | grep -q " $node_ip/" || ip addr add $node_ip/24 dev $bridge
  ip link set $bridge up
  # A service address that nothing translates ends on the bridge, not on the way out.
  ip route replace $service_network dev $bridge
  nft delete table ip longshore 2>/dev/null || true
  # Only the service `kubernetes` has an address that works. Nothing goes between the bridge and
  # the outside, and from outside nobody reaches what listens on all addresses.
  nft -f - <<EOF
table ip longshore {
  chain from_pods {
    type nat hook prerouting priority -100;
    ip daddr $service_ip tcp dport 443 redirect to :$port_api;
  }
  chain from_node {
    type nat hook output priority -100;
    ip daddr $service_ip tcp dport 443 dnat to $node_ip:$port_api;
  }
  chain through {
    type filter hook forward priority 0;
    iifname "$bridge" oifname != "$bridge" drop;
    oifname "$bridge" iifname != "$bridge" drop;
  }
  chain from_outside {
    type filter hook input priority 0;
    iifname != { "lo", "$bridge" } tcp dport { $port_api, $port_kubelet, $port_s3 } drop;
  }
}
EOF
}

network_down() {
  nft delete table ip longshore 2>/dev/null || true
  ip link del $bridge 2>/dev/null || true
}

# Kernel settings that the kubelet and the CNI plugin change: noted at `up`, put back at `down`.
kernel_settings=(net.ipv4.ip_forward kernel.panic kernel.panic_on_oops vm.overcommit_memory
  vm.panic_on_oom kernel.keys.root_maxkeys kernel.keys.root_maxbytes)

note_kernel_settings() {
  [[ -f $folder/sysctl.saved ]] || sysctl "${kernel_settings[@]}" >"$folder/sysctl.saved"
}

restore_kernel_settings() {
  [[ -f $folder/sysctl.saved ]] || return 0
  sysctl -q -p "$folder/sysctl.saved" || true
  rm -f "$folder/sysctl.saved"
}
