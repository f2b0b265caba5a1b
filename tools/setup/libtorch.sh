# LibTorch and NCCL in the per-user cache, or the user's own by LIBTORCH_DIR.
# Sourced by bazelw after common.sh and wheels.sh.
# shellcheck shell=bash

LIBTORCH_LOCK=$AUTOBATCH_ROOT/third_party/libtorch/requirements.lock

# What it takes on disk while it is installed: the unpacked wheels and pip's copy of them.
readonly LIBTORCH_PEAK_MB=7000

# Files without which no program of ours links or starts: a folder that lacks one is damaged.
readonly LIBTORCH_KEY_FILES=(
  torch/include/torch/script.h
  torch/lib/libc10.so
  torch/lib/libc10_cuda.so
  torch/lib/libtorch.so
  torch/lib/libtorch_cpu.so
  torch/lib/libtorch_cuda.so
  nvidia/cu13/include/crt/host_defines.h
  nvidia/cu13/include/cuda_runtime_api.h
  nvidia/cu13/include/nv/target
  nvidia/cu13/lib/libcudart.so.13
  nvidia/cudnn/lib/libcudnn.so.9
  nvidia/nccl/include/nccl.h
  nvidia/nccl/lib/libnccl.so.2
)

libtorch_ready() {
  [[ -z ${LIBTORCH_DIR-} ]] || return 0
  local folder file
  folder=$(wheels_folder libtorch "$LIBTORCH_LOCK")
  for file in "${LIBTORCH_KEY_FILES[@]}"; do
    [[ -s $folder/$file ]] || return 1
  done
}

install_libtorch() {
  install_wheels libtorch "$LIBTORCH_LOCK" "$LIBTORCH_PEAK_MB" \
    "LibTorch and NCCL (4 GB on disk, a minute or more to fetch; set LIBTORCH_DIR to bring your own)"
  libtorch_ready || die "the installed wheels lack files that the build needs; please report this."
}
