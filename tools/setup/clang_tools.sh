#!/bin/bash
# Prints the folder of the locked clang-format and clang-tidy (bin/ in it), installing them when they are
# not there: for tools/format and tools/lint.
set -euo pipefail

AUTOBATCH_ROOT=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
# shellcheck source=tools/setup/common.sh
source "$AUTOBATCH_ROOT/tools/setup/common.sh"
# shellcheck source=tools/setup/wheels.sh
source "$AUTOBATCH_ROOT/tools/setup/wheels.sh"

lock=$AUTOBATCH_ROOT/tools/setup/clang-tools.lock
use_writable_home
folder=$(wheels_folder clang-tools "$lock")

install_once() {
  [[ -d $folder ]] || install_wheels clang-tools "$lock" 400 "clang-format and clang-tidy"
}

[[ -d $folder ]] || under_setup_lock install_once
echo "$folder"
