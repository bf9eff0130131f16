# Keys, certificates and kubeconfigs of a cluster, made anew for each. Sourced.
# shellcheck shell=bash

make_keys() {
  mkdir -p "$keys"
  openssl req -x509 -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 \
    -keyout "$keys/ca.key" -subj /CN=longshore-test-ca -out "$keys/ca.crt" 2>/dev/null
  openssl genrsa -out "$keys/sa.key" 2048 2>/dev/null
  openssl rsa -in "$keys/sa.key" -pubout -out "$keys/sa.pub" 2>/dev/null
  local names=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc
  certificate server /CN=kube-apiserver serverAuth \
    "IP:127.0.0.1,IP:$node_ip,IP:$service_ip,$names"
  certificate kubelet "/CN=$node" serverAuth "IP:$node_ip,IP:127.0.0.1,DNS:$node"
  certificate kubelet-client /O=system:masters/CN=apiserver-kubelet-client clientAuth
  certificate admin /O=system:masters/CN=admin clientAuth
  certificate controller-manager /CN=system:kube-controller-manager clientAuth
  certificate scheduler /CN=system:kube-scheduler clientAuth
  certificate node "/O=system:nodes/CN=system:node:$node" clientAuth
  local who
  for who in admin controller-manager scheduler node; do kubeconfig "$who"; done
}

certificate() { # NAME SUBJECT USAGE [OTHER_NAMES]
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout "$keys/$1.key" -subj "$2" -out "$keys/$1.csr" 2>/dev/null
  openssl x509 -req -in "$keys/$1.csr" -CA "$keys/ca.crt" -CAkey "$keys/ca.key" -days 3650 \
    -out "$keys/$1.crt" 2>/dev/null -extfile <(
      printf 'keyUsage=digitalSignature,keyEncipherment\nextendedKeyUsage=%s\n' "$3"
      [[ -z ${4:-} ]] || printf 'subjectAltName=%s\n' "$4"
    )
}

kubeconfig() { # NAME of a certificate: writes $state/NAME.conf
  cat >"$state/$1.conf" <<EOF
apiVersion: v1
kind: Config
clusters:
  - name: test
    cluster:
      server: https://127.0.0.1:$port_api
      certificate-authority-data: $(base64 -w0 "$keys/ca.crt")
users:
  - name: $1
    user:
      client-certificate-data: $(base64 -w0 "$keys/$1.crt")
      client-key-data: $(base64 -w0 "$keys/$1.key")
contexts: [{ name: test, context: { cluster: test, user: $1 } }]
current-context: test
EOF
}
