#!/bin/bash
# The repository rule of LibTorch on folders that look like LibTorch, as a bazel of its own reads them.
set -uo pipefail

workspace=$TEST_TMPDIR/workspace
export HOME=$TEST_TMPDIR/home
unset CUDA_HOME XDG_CACHE_HOME
mkdir -p "$workspace" "$HOME"
cp -RL WORKSPACE third_party "$workspace"
touch "$workspace/BUILD.bazel"
cd "$workspace" || exit
failures=0

bazel=(/usr/bin/bazel "--output_user_root=$TEST_TMPDIR/bazel" --max_idle_secs=30 --nohome_rc)
trap '"${bazel[@]}" shutdown' EXIT

# A LibTorch as pip lays it out, with what the rule looks at.
make_libtorch() {
  root=$(mktemp -d "$TEST_TMPDIR/libtorch.XXXX")
  torch=$root/torch
  mkdir -p "$torch"/lib "$torch"/include/{torch/headeronly,torch/csrc/api/include/torch,c10/cuda} \
    "$root"/nvidia/{cu13/include/{crt,nv},nccl/include}
  touch "$torch"/lib/{libtorch,libtorch_cpu,libc10_cuda,libtorch_cuda}.so \
    "$torch"/include/{torch/script.h,torch/csrc/api/include/torch/torch.h,c10/cuda/CUDACachingAllocator.h} \
    "$root"/nvidia/cu13/include/cuda_runtime_api.h \
    "$root"/nvidia/cu13/include/{crt/host_defines.h,nv/target} "$root"/nvidia/nccl/include/nccl.h
  printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n' >"$torch/include/torch/headeronly/version.h"
  elf '\x3e' St7__cxx1112basic_string
}

elf() { # MACHINE SYMBOL
  printf '\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0'"$1"'\0 %s' "$2" >"$torch/lib/libc10.so"
}

# query FOLDER: what the rule makes of it, the NCCL target or an error.
query() {
  LIBTORCH_DIR=$1 "${bazel[@]}" query --noshow_progress --output=build @libtorch//:nccl_headers \
    >"$TEST_TMPDIR/answer" 2>&1
}

expect() { # CASE WORDS
  if ! grep -qF -- "$2" "$TEST_TMPDIR/answer"; then
    failures=$((failures + 1))
    echo "FAILED: $1: no '$2' in:"
    sed 's/^/    /; s/^\(.\{300\}\).*/\1/' "$TEST_TMPDIR/answer"
  fi
}

make_libtorch
query "$root"
expect PipFolder_Accepted 'AUTOBATCH_HAVE_NCCL=1'
query "$torch"
expect TorchFolder_Accepted 'AUTOBATCH_HAVE_NCCL=1'

rm -r "$root/nvidia/nccl"
query "$root"
expect NoNcclHeaders_Stub 'AUTOBATCH_HAVE_NCCL=0'

mv "$root/nvidia/cu13" "$TEST_TMPDIR/cuda"
export CUDA_HOME=$TEST_TMPDIR/nothing # else this machine's own toolkit is found
query "$torch"
expect NoCudaHeaders_Refused "CUDA's headers are not beside it"
export CUDA_HOME=$TEST_TMPDIR/cuda
mv "$torch" "$TEST_TMPDIR/unpacked"
query "$TEST_TMPDIR/unpacked"
expect UnpackedZip_Accepted 'AUTOBATCH_HAVE_NCCL=0'
unset CUDA_HOME

query "$TEST_TMPDIR/nothing"
expect NoFolder_Refused "LibTorch is not in $TEST_TMPDIR/nothing (LIBTORCH_DIR=$TEST_TMPDIR/nothing)"
query ''
expect NotInstalled_NamesBazelw 'Run ./bazelw once to install it'

make_libtorch
rm -r "$root/nvidia/cu13/include/crt"
query "$root"
expect NoCrtHeaders_NamesTheWheel 'nvidia-cuda-crt'
make_libtorch
rm -r "$root/nvidia/cu13/include/nv"
query "$root"
expect NoCcclHeaders_NamesTheWheel 'nvidia-cuda-cccl'

make_libtorch
rm "$torch/lib/libtorch_cuda.so"
query "$root"
expect CpuOnly_Refused 'CPU-only or a damaged LibTorch'

make_libtorch
rm "$torch/include/torch/script.h"
query "$root"
expect NoHeaders_Refused 'its headers are missing'

make_libtorch
printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 4\n' >"$torch/include/torch/headeronly/version.h"
query "$root"
expect OtherVersion_Refused "LibTorch 2.4 is in $torch; expected 2.11"

make_libtorch
elf '\xb7' St7__cxx1112basic_string
query "$root"
expect OtherMachine_Refused 'is not an x86-64 library (ELF machine bytes: b7 00)'

make_libtorch
elf '\x3e' NSs
query "$root"
expect OldAbi_Refused 'is built with the old C++ ABI'

((failures == 0)) && echo "all passed"
