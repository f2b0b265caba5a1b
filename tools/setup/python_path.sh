#!/bin/bash
# Prints the PYTHONPATH of torch, which ./bazelw installs, and of the packages that locks pin: what is not there of
# these is installed first.
#
#   tools/setup/python_path.sh NAME=LOCK…     the first named is found first
#
# Each lock has a folder of its own in the per-user cache, called after NAME and the lock's content.
set -euo pipefail

AUTOBATCH_ROOT=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
# shellcheck source=tools/setup/common.sh
source "$AUTOBATCH_ROOT/tools/setup/common.sh"
# shellcheck source=tools/setup/wheels.sh
source "$AUTOBATCH_ROOT/tools/setup/wheels.sh"
# shellcheck source=tools/setup/libtorch.sh
source "$AUTOBATCH_ROOT/tools/setup/libtorch.sh"

# What a lock of tests takes on disk while it is installed.
readonly PEAK_MB=1500

use_writable_home
path=
for named in "$@"; do
  lock=$AUTOBATCH_ROOT/${named#*=}
  wheels_ready "${named%%=*}" "$lock" ||
    under_setup_lock install_wheels_once "${named%%=*}" "$lock" "$PEAK_MB" "the Python packages of ${named#*=}"
  path+=$(wheels_folder "${named%%=*}" "$lock"):
done
echo "$path${LIBTORCH_DIR:-$(wheels_folder libtorch "$LIBTORCH_LOCK")}"
