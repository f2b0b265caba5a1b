# LibTorch and NCCL from the wheels on PyPI, locked by version and hash, in the per-user cache.
# Sourced by bazelw after common.sh.
# shellcheck shell=bash

LIBTORCH_LOCK=$AUTOBATCH_ROOT/third_party/libtorch/requirements.lock

# On disk once installed, and while installing (the unpacked wheels and pip's copy of them), in MB.
readonly LIBTORCH_MB=4300 LIBTORCH_PEAK_MB=7000

# Files without which no program of ours links or starts: a folder that lacks one is damaged.
readonly LIBTORCH_KEY_FILES=(
  torch/include/torch/script.h
  torch/lib/libc10.so
  torch/lib/libc10_cuda.so
  torch/lib/libtorch.so
  torch/lib/libtorch_cpu.so
  torch/lib/libtorch_cuda.so
  nvidia/cu13/include/cuda_runtime_api.h
  nvidia/cu13/lib/libcudart.so.13
  nvidia/cudnn/lib/libcudnn.so.9
  nvidia/nccl/include/nccl.h
  nvidia/nccl/lib/libnccl.so.2
)

# The folder is named after the lock, as third_party/libtorch/libtorch.bzl names it: another lock is
# another folder, and clones at different commits share one cache.
libtorch_folder() {
  local digest
  digest=$(sha256sum "$LIBTORCH_LOCK")
  echo "$AUTOBATCH_CACHE/libtorch-${digest:0:12}"
}

libtorch_ready() {
  [[ -z ${LIBTORCH_DIR-} ]] || return 0
  local folder file
  folder=$(libtorch_folder)
  [[ -d $folder ]] || return 1
  for file in "${LIBTORCH_KEY_FILES[@]}"; do
    [[ -s $folder/$file ]] || return 1
  done
}

# Installs into a sibling folder and renames it, so that the folder is whole or not there. pip keeps
# finished downloads in its own cache: an interrupted installation goes on where it was.
install_libtorch() {
  local folder partial
  folder=$(libtorch_folder)
  partial=$folder.partial
  [[ $(uname -m) == x86_64 ]] ||
    die "unsupported machine '$(uname -m)': LibTorch is locked for x86_64. Set LIBTORCH_DIR to your own."
  if [[ -e $folder ]]; then
    say "$folder is incomplete; installing it anew"
    rm -rf "$folder"
  fi
  [[ ! -e $partial ]] || say "removing what an interrupted installation left"
  rm -rf "$partial"
  require_room
  say "installing LibTorch and NCCL from PyPI into $folder (about $((LIBTORCH_MB / 1000)) GB; a minute" \
    "or more to fetch). To bring your own instead, set LIBTORCH_DIR."
  mkdir -p "$partial/tmp"
  if ! pip_install "$partial" 2> >(tee "$partial/errors" >&2); then
    explain_pip_failure "$partial/errors"
  fi
  rm -rf "$partial/tmp" "$partial/errors"
  mv "$partial" "$folder"
  libtorch_ready || die "the wheels lack files that the build needs; $folder is not as expected."
  say "LibTorch is installed"
}

require_room() {
  local free_mb
  free_mb=$(df --output=avail --block-size=1M "$AUTOBATCH_CACHE" | tail -n 1)
  ((free_mb >= LIBTORCH_PEAK_MB)) ||
    die "not enough room for LibTorch: $AUTOBATCH_CACHE has ${free_mb// /} MB free, and about" \
      "$LIBTORCH_PEAK_MB MB are needed. Free some, or set XDG_CACHE_HOME to another disk."
}

# The platform is named, so that any Python with pip installs the same locked wheels. TMPDIR is on
# the same disk: pip unpacks there, and /tmp is often a small tmpfs.
pip_install() {
  local python=python3 platforms=(--platform manylinux2014_x86_64) glibc
  for glibc in {17..28}; do
    platforms+=(--platform "manylinux_2_${glibc}_x86_64")
  done
  python3 -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  TMPDIR=$1/tmp "$python" -m pip install --quiet --disable-pip-version-check --no-input \
    --root-user-action=ignore --no-deps --require-hashes --no-compile --target "$1" \
    --implementation cp --python-version 3.11 --abi cp311 --abi none --only-binary :all: \
    "${platforms[@]}" -r "$LIBTORCH_LOCK" >&2
}

explain_pip_failure() {
  local words
  words=$(<"$1")
  case $words in
    *"No space left on device"*)
      die "the disk is full: LibTorch takes about $LIBTORCH_PEAK_MB MB while it is installed." \
        "Free some, or set XDG_CACHE_HOME to another disk." ;;
    *"DO NOT MATCH THE HASHES"*)
      die "a wheel is not the one that third_party/libtorch/requirements.lock names by its hash: the" \
        "mirror is out of step or the download was tampered with. Nothing was installed." ;;
    *"Permission denied"*)
      die "pip has no right to write: see its words above." ;;
    *"No module named pip"*)
      die "Python has no pip: apt-get install python3-pip" ;;
    *)
      die "pip could not fetch the wheels: no network, or a mirror without them (PIP_INDEX_URL and" \
        "pip.conf are honoured). What was fetched is kept; run ./bazelw again to go on, or set" \
        "LIBTORCH_DIR to a LibTorch of your own." ;;
  esac
}
