# Images made of files, without a container engine and without a registry. Sourced.
# shellcheck shell=bash

# busybox_root FOLDER: a userland of Debian's busybox
busybox_root() {
  local applet
  mkdir -p "$1"/{bin,etc,tmp,root,usr/bin,var,run,home}
  chmod 1777 "$1/tmp"
  cp /bin/busybox "$1/bin/busybox"
  for applet in $(/bin/busybox --list); do
    [[ $applet == busybox ]] || ln -s /bin/busybox "$1/bin/$applet"
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
  echo 'root:x:0:' >"$1/etc/group"
}

# make_image NAME ENTRYPOINT [TARGET=FILE...]: of busybox and these files, straight into containerd
make_image() {
  local name=$1 entrypoint=$2 work item target; shift 2
  work=$(mktemp -d "$folder/.image-XXXXXX")
  busybox_root "$work/root"
  for item in "$@"; do
    target=$work/root${item%%=*}
    mkdir -p "${target%/*}"
    cp -L "${item#*=}" "$target"
  done
  node "$project/build/oci.mjs" "$work/root" "$name" \
    "{\"Entrypoint\":$entrypoint,\"Env\":[\"PATH=/usr/bin:/bin\"]}" "$work/image.tar"
  images import "$work/image.tar" >/dev/null || die "containerd does not take the image $name"
  rm -rf "$work"
}

make_base_images() {
  make_image localhost/busybox:1 '[]'
  make_image localhost/pause:1 '["/bin/busybox","sleep","inf"]'
}
