#!/bin/sh
# Starts the worker on the LibTorch of this node: $LIBTORCH_DIR, or that of the Python that a job
# started here would use ($AUTOBATCH_PYTHON, python3). Built for LibTorch @LIBTORCH@: C++ of another
# version does not link.
here=$(dirname "$(readlink -f "$0")")

give_up() {
  # The last line is the one that a report repeats first.
  echo "worker: your own script needs none of this: probe -- python train.py --batch {batch}" >&2
  echo "worker: the built-in workloads need LibTorch @LIBTORCH@: set LIBTORCH_DIR to it (the folder with lib/)," \
    "or put a python3 that has torch @LIBTORCH@ first in PATH" >&2
  echo "worker: $1" >&2
  exit 127
}

if [ -n "$LIBTORCH_DIR" ]; then
  torch=$LIBTORCH_DIR
  [ -d "$torch/torch/lib" ] && torch=$torch/torch
else
  python=${AUTOBATCH_PYTHON:-python3}
  # The package is looked for, not imported: that would take seconds.
  torch=$(LD_PRELOAD='' "$python" -c '
import importlib.util
spec = importlib.util.find_spec("torch")
print(spec.submodule_search_locations[0] if spec else "")' 2>/dev/null)
  [ -n "$torch" ] || give_up "LIBTORCH_DIR is not set, and $python has no torch"
fi
[ -r "$torch/lib/libtorch_cpu.so" ] || give_up "$torch/lib/libtorch_cpu.so is not there, or not for you to read"
version=$(cat "$torch/build-version" 2>/dev/null ||
  sed -n "s/^__version__ = ['\"]\(.*\)['\"].*/\1/p" "$torch/version.py" 2>/dev/null)
case $version in
  @LIBTORCH@ | @LIBTORCH@+*) ;;
  *) give_up "LibTorch in $torch is ${version:-of an unknown version}" ;;
esac
export LD_LIBRARY_PATH="$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$here/worker.bin" "$@"
