# etcd, the API server, the controller manager, the scheduler, and S3. Sourced.
# shellcheck shell=bash

start_api_server() {
  local etcd=http://127.0.0.1:$port_etcd peer=http://127.0.0.1:$port_etcd_peer audit=()
  start etcd "$bin/etcd" --data-dir "$state/etcd" --unsafe-no-fsync --logger zap --log-level warn \
    --listen-client-urls $etcd --advertise-client-urls $etcd --listen-peer-urls $peer \
    --initial-advertise-peer-urls $peer --initial-cluster default=$peer
  if [[ ${CLUSTER_AUDIT:-} ]]; then
    # Who asked for what, without bodies. One line of YAML with braces would be taken for JSON.
    echo '{"apiVersion":"audit.k8s.io/v1","kind":"Policy","omitStages":["RequestReceived"],
      "rules":[{"level":"Metadata"}]}' >"$state/audit.yaml"
    audit=(--audit-policy-file "$state/audit.yaml" --audit-log-path "$logs/audit.log"
      --audit-log-maxsize 1000)
  fi
  # InternalIP: nobody resolves the node's name here
  start apiserver "$bin/kube-apiserver" "${audit[@]}" --etcd-servers $etcd \
    --bind-address 0.0.0.0 --advertise-address $node_ip --secure-port $port_api \
    --service-cluster-ip-range $service_network --allow-privileged --profiling=false \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction \
    --tls-cert-file "$keys/server.crt" --tls-private-key-file "$keys/server.key" \
    --client-ca-file "$keys/ca.crt" --service-account-key-file "$keys/sa.pub" \
    --service-account-signing-key-file "$keys/sa.key" \
    --service-account-issuer https://kubernetes.default.svc \
    --kubelet-client-certificate "$keys/kubelet-client.crt" \
    --kubelet-client-key "$keys/kubelet-client.key" \
    --kubelet-certificate-authority "$keys/ca.crt" \
    --kubelet-preferred-address-types InternalIP
}

start_controllers() {
  local config=$state/controller-manager.conf
  start controller-manager "$bin/kube-controller-manager" --kubeconfig "$config" \
    --authentication-kubeconfig "$config" --authorization-kubeconfig "$config" \
    --leader-elect=false --bind-address 127.0.0.1 --secure-port $port_controllers \
    --service-account-private-key-file "$keys/sa.key" --root-ca-file "$keys/ca.crt" \
    --use-service-account-credentials
  config=$state/scheduler.conf
  start scheduler "$bin/kube-scheduler" --kubeconfig "$config" \
    --authentication-kubeconfig "$config" --authorization-kubeconfig "$config" \
    --leader-elect=false --bind-address 127.0.0.1 --secure-port $port_scheduler
}

start_s3() { # for the node on loopback, for pods on the bridge
  mkdir -p "$state/s3/velero"
  start s3 env ROOT_ACCESS_KEY_ID=test ROOT_SECRET_ACCESS_KEY=testsecret "$bin/versitygw" -q \
    -p 127.0.0.1:$port_s3 -p $node_ip:$port_s3 posix "$state/s3"
}
