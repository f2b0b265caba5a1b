# Wheels from PyPI, locked by version and hash, each lock in a folder of its own in the per-user cache.
# Sourced after common.sh.
# shellcheck shell=bash

# wheels_folder NAME LOCK: the folder is named after the lock's content (libtorch.bzl does the same), so
# another lock is another folder, and clones at different commits share one cache.
wheels_folder() {
  local digest
  digest=$(sha256sum "$2")
  echo "$AUTOBATCH_CACHE/$1-${digest:0:12}"
}

# install_wheels NAME LOCK PEAK_MB WHAT: to be called under the setup lock. Wheels are fetched one at a
# time into FOLDER.wheels, which an interruption leaves for the next attempt, then installed into
# FOLDER.partial, which is renamed: FOLDER is whole or not there.
install_wheels() {
  local lock=$2 peak_mb=$3 what=$4 folder
  folder=$(wheels_folder "$1" "$lock")
  [[ $(uname -m) == x86_64 ]] ||
    die "unsupported machine '$(uname -m)': the wheels of ${lock##*/} are locked for x86_64." \
      "For LibTorch, set LIBTORCH_DIR to your own."
  if [[ -e $folder ]]; then
    say "$folder is incomplete; installing it anew"
    rm -rf "$folder"
  fi
  [[ ! -e $folder.wheels ]] || say "going on where an interrupted installation stopped"
  rm -rf "$folder.partial"
  mkdir -p "$folder.wheels" "$folder.partial/tmp"
  require_room "$peak_mb"
  say "installing $what from PyPI into $folder"
  fetch_wheels "$lock" "$folder.wheels"
  say "unpacking"
  run_pip "$lock" install "$folder.partial" --no-index --find-links "$folder.wheels" --no-compile \
    --root-user-action=ignore --target "$folder.partial" -r "$lock"
  rm -rf "$folder.partial/tmp"
  mv "$folder.partial" "$folder"
  rm -rf "$folder.wheels"
  say "installed"
}

wheels_ready() { # NAME LOCK
  [[ -d $(wheels_folder "$1" "$2") ]]
}

# install_wheels_once NAME LOCK PEAK_MB WHAT: what another one installed while this one waited is not installed again.
install_wheels_once() {
  wheels_ready "$1" "$2" || install_wheels "$@"
}

# fetch_wheels LOCK FOLDER: one call of pip for each wheel, since an interrupted call keeps nothing. A
# wheel has its name in FOLDER only once it is whole.
fetch_wheels() {
  local arriving=$2/arriving lines line name version rest
  mapfile -t lines < <(grep '^[^#]' "$1")
  for line in "${lines[@]}"; do
    name=${line%%==*}
    read -r version rest <<<"${line#*==}"
    ! compgen -G "$2/${name//-/_}-$version-*.whl" >/dev/null || continue
    say "fetching $name $version"
    rm -rf "$arriving"
    mkdir "$arriving"
    echo "$name==$version $rest" >"$arriving/requirement.txt"
    run_pip "$1" download "$arriving" --dest "$arriving" -r "$arriving/requirement.txt"
    mv "$arriving"/*.whl "$2"
  done
}

require_room() {
  local free_mb
  free_mb=$(df --output=avail --block-size=1M "$AUTOBATCH_CACHE" | tail -n 1)
  ((free_mb >= $1)) ||
    die "not enough room: $AUTOBATCH_CACHE has ${free_mb// /} MB free, and about $1 MB are needed" \
      "while installing. Free some, or set XDG_CACHE_HOME to another disk."
}

# run_pip LOCK SUBCOMMAND FOLDER ARG…: ends the program with an explanation when pip fails. The platform
# is named, so that any Python with pip takes the same locked wheels. TMPDIR is on the target's disk: pip
# unpacks there, and /tmp is often a small tmpfs.
run_pip() {
  local lock=$1 subcommand=$2 folder=$3 python=python3 glibc
  local platforms=(--platform manylinux2014_x86_64)
  shift 3
  for glibc in {17..28}; do
    platforms+=(--platform "manylinux_2_${glibc}_x86_64")
  done
  python3 -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
  mkdir -p "$folder/tmp"
  if ! TMPDIR=$folder/tmp "$python" -m pip "$subcommand" --quiet --disable-pip-version-check \
    --no-input --no-cache-dir --no-deps --require-hashes --implementation cp --python-version 3.11 \
    --abi cp311 --abi abi3 --abi none --only-binary :all: "${platforms[@]}" "$@" >&2 2>"$folder/errors"; then
    cat "$folder/errors" >&2
    explain_pip_failure "$lock" "$(<"$folder/errors")" "$folder"
  fi
  rm -rf "$folder/errors" "$folder/tmp"
}

# explain_pip_failure LOCK WORDS FOLDER: pip's own words are on the terminal already; this says what to do.
explain_pip_failure() {
  case $2 in
    *"No space left on device"*)
      die "the disk is full. Free some, or set XDG_CACHE_HOME to another disk." ;;
    *"DO NOT MATCH THE HASHES"*)
      rm -rf "${3%.*}.wheels"
      die "a wheel is not the one that ${1##*/} names by its hash: the mirror is out of step, or the" \
        "download was tampered with. Nothing was installed." ;;
    *"Permission denied"*)
      die "pip has no right to write: its words are above." ;;
    *"No module named pip"*)
      die "Python has no pip: apt-get install python3-pip" ;;
    *)
      die "pip could not fetch the wheels: no network, or a mirror without them (PIP_INDEX_URL and" \
        "pip.conf are honoured). What was fetched is kept: the same command goes on from there." ;;
  esac
}
