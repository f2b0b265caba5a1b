# Shared by bazelw and by the tools that install something: messages, the cache folder, the lock.
# Sourced, never run.
# shellcheck shell=bash

say() { printf 'autobatch: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 1
}

# Startup options that bazel needs on an unusual machine; empty on the usual one.
# shellcheck disable=SC2034  # bazelw reads it
BAZEL_STARTUP=()

# Sets AUTOBATCH_CACHE, the per-user folder of everything installed. A home that is missing or
# read-only (a container's arbitrary user) is replaced by XDG_CACHE_HOME when that can be written.
use_writable_home() {
  if [[ -z ${HOME-} ]]; then
    HOME=$(getent passwd "$(id -u)" | cut -d: -f6) || true
    export HOME
  fi
  local cache=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
  if [[ -z $cache ]] || ! mkdir -p "$cache/autobatch" 2>/dev/null || [[ ! -w $cache/autobatch ]]; then
    die "cannot write to the cache folder '${cache:-\$HOME/.cache}/autobatch'." \
      "Set HOME or XDG_CACHE_HOME to a folder that you can write to."
  fi
  AUTOBATCH_CACHE=$cache/autobatch
  if [[ -z ${HOME-} || ! -w $HOME ]]; then
    # Bazel knows no XDG_CACHE_HOME: it is told where to keep its own files.
    printf 'build --disk_cache=%s\n' "$AUTOBATCH_CACHE/bazel-disk" >"$AUTOBATCH_CACHE/bazelrc"
    # shellcheck disable=SC2034
    BAZEL_STARTUP=("--output_user_root=$cache/bazel" "--bazelrc=$AUTOBATCH_CACHE/bazelrc")
  fi
}

# under_setup_lock COMMAND…: one installation at a time for this user. The lock is held by a
# subshell, so that the bazel server, started later, does not inherit it.
under_setup_lock() {
  (
    if ! flock --nonblock 9; then
      say "another bazelw is installing; waiting for it"
      flock 9
    fi
    "$@"
  ) 9>"$AUTOBATCH_CACHE/setup.lock"
}

# Runs once the lock is held: what another instance has installed meanwhile is not installed again.
install_missing() {
  packages_ready || install_packages
  libtorch_ready || install_libtorch
}
