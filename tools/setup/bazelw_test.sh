#!/bin/bash
# ./bazelw on machines made of fake commands: dpkg-query, apt-get, sudo, pip and bazel write down how they are
# called, and fail as the case wants it.
set -uo pipefail

bazelw=$PWD/bazelw
failures=0

# What the fakes do. MACHINE is one case's folder; files in it switch faults on:
#   no-network, bad-hash, disk-full, small-disk, gate (a fifo: each call of pip waits on it)
# shellcheck disable=SC2016  # the fakes expand their text, not this script
make_machine() {
  MACHINE=$(mktemp -d "$TEST_TMPDIR/machine.XXXX")
  export MACHINE HOME=$MACHINE/home
  unset LIBTORCH_DIR XDG_CACHE_HOME
  export FAKE_UID=0 FAKE_MACHINE=x86_64 BAZEL=$MACHINE/bin/bazel PATH=$MACHINE/bin:/usr/bin:/bin
  mkdir -p "$MACHINE/bin" "$HOME"
  touch "$MACHINE/installed" "$MACHINE/log"
  fake bazel 'echo "bazel $*"'
  fake id 'echo "$FAKE_UID"'
  fake uname 'echo "$FAKE_MACHINE"'
  fake sudo '[[ -e $MACHINE/sudo && $1 == -n ]] && shift && exec "$@"'
  fake df 'printf "Avail\n %s\n" "$([[ -e $MACHINE/small-disk ]] && echo 100 || echo 99999)"'
  fake dpkg-query '
    for name in "${@:4}"; do
      grep -qx "$name" "$MACHINE/installed" && echo "ii  $name $(cat "$MACHINE/bazel-version" 2>/dev/null || echo 4.2.3+ds-9)"
    done'
  fake apt-get '
    echo "apt-get $*" >>"$MACHINE/log"
    [[ ! -e $MACHINE/no-network ]] || exit 100
    for name in "$@"; do [[ $name == -* ]] || echo "$name" >>"$MACHINE/installed"; done'
  fake python3 '
    [[ $3 != --version ]] || exit 0
    value() { while [[ $1 != "$option" ]]; do shift; done; echo "$2"; }
    requirements=$(option=-r value "$@")
    echo "pip $3 $(grep -v "^#" "$requirements" | head -n 1 | cut -d= -f1)" >>"$MACHINE/log"
    if [[ -p $MACHINE/gate ]]; then
      echo downloading >"$MACHINE/started"
      read -r _ <"$MACHINE/gate"
    fi
    if [[ -e $MACHINE/no-network ]]; then echo "ERROR: No matching distribution found" >&2; exit 1; fi
    if [[ -e $MACHINE/disk-full ]]; then echo "OSError: [Errno 28] No space left on device" >&2; exit 1; fi
    if [[ $3 == download ]]; then
      name=$(cut -d" " -f1 "$requirements")
      touch "$(option=--dest value "$@")/$(sed "s/==/@/; s/-/_/g; s/@/-/" <<<"$name")-py3-none-any.whl"
    else
      if [[ -e $MACHINE/bad-hash ]]; then echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES" >&2; exit 1; fi
      target=$(option=--target value "$@")
      sed -n "/^readonly LIBTORCH_KEY_FILES/,/^)/s/^  //p" "$KEY_FILES" | while read -r file; do
        mkdir -p "$target/${file%/*}" && echo content >"$target/$file"
      done
    fi'
  export KEY_FILES=$PWD/tools/setup/libtorch.sh
}

fake() { printf '#!/bin/bash\n%s\n' "$2" >"$MACHINE/bin/$1" && chmod +x "$MACHINE/bin/$1"; }

run() { "$bazelw" "$@" >"$MACHINE/stdout" 2>"$MACHINE/stderr"; }

# expect WHAT COMMAND…: counts a failure, and shows what bazelw said.
expect() {
  local what=$1
  shift
  if ! "$@"; then
    failures=$((failures + 1))
    echo "FAILED: ${FUNCNAME[1]}: $what"
    sed 's/^/    /' "$MACHINE/stderr" "$MACHINE/log"
  fi
}

says() { grep -qF -- "$1" "$MACHINE/stderr"; }
logged() { grep -q -- "$1" "$MACHINE/log"; }
not() { ! "$@"; }
times() { [[ $(grep -c -- "$2" "$MACHINE/log") == "$1" ]]; }

BareMachine_AsRoot_InstallsAllThenRunsBazel() {
  make_machine
  expect "exits 0" run test //...
  expect "runs bazel" grep -qx 'bazel test //...' "$MACHINE/stdout"
  expect "installs bazel" logged 'apt-get .*install .*bazel-bootstrap'
  expect "installs LibTorch" logged 'pip install'
  expect "says what it installs" says 'installing Debian packages: bazel-bootstrap'
}

NothingMissing_SecondRun_SilentAndTouchesNothing() {
  make_machine
  run --setup-only
  : >"$MACHINE/log"
  expect "exits 0" run build //x
  expect "is silent" not test -s "$MACHINE/stderr"
  expect "calls no installer" not test -s "$MACHINE/log"
}

PackageNewerThanBazelsLook_LetsBazelLookAgain() {
  make_machine
  cp -rL bazelw tools third_party "$MACHINE"
  local bazelw=$MACHINE/bazelw looked=$MACHINE/base/external/local_config_cc/module.modulemap
  mkdir -p "${looked%/*}" "$MACHINE/base/execroot/autobatch/bazel-out" "$MACHINE/dpkg/info"
  ln -s "$MACHINE/base/execroot/autobatch/bazel-out" "$MACHINE/bazel-out"
  export DPKG_ADMINDIR=$MACHINE/dpkg
  touch -d "1 hour ago" "$DPKG_ADMINDIR/info/clang-19.list" "$DPKG_ADMINDIR/info/libssl-dev:amd64.list"
  touch -d "1 hour ago" "$DPKG_ADMINDIR/info/of-others.list"
  touch "$looked"
  run build //x
  expect "does not look again without need" not grep -q sync "$MACHINE/stdout"
  touch -d "1 minute" "$DPKG_ADMINDIR/info/of-others.list"
  run build //x
  expect "not for packages of others" not grep -q sync "$MACHINE/stdout"
  touch -d "1 minute" "$DPKG_ADMINDIR/info/libssl-dev:amd64.list"
  expect "exits 0" run build //x
  expect "looks, then builds" test "$(cat "$MACHINE/stdout")" = $'bazel sync --configure\nbazel build //x'
  expect "says why" says 'Bazel looks at the machine again'
  unset DPKG_ADMINDIR
}

BareMachine_WithoutRoot_NamesTheCommand() {
  make_machine
  FAKE_UID=1000
  expect "fails" not run test //...
  expect "says why" says 'installing them takes root'
  expect "names the command" says 'apt-get update && apt-get install --no-install-recommends bazel-bootstrap'
  expect "installs nothing" not test -s "$MACHINE/log"
}

BareMachine_WithPasswordlessSudo_UsesIt() {
  make_machine
  FAKE_UID=1000
  touch "$MACHINE/sudo"
  expect "exits 0" run test //...
  expect "installs" logged 'apt-get .*install'
}

BareMachine_NoNetwork_SaysSo() {
  make_machine
  touch "$MACHINE/no-network"
  expect "fails" not run test //...
  expect "names apt-get" says 'apt-get could not install the packages'
  rm "$MACHINE/no-network"
  run --setup-only
  rm -rf "$HOME/.cache"
  touch "$MACHINE/no-network"
  expect "fails" not run test //...
  expect "names pip" says 'pip could not fetch the wheels: no network'
}

Wheel_HashMismatch_InstallsNothingAndFetchesAnew() {
  make_machine
  touch "$MACHINE/bad-hash"
  expect "fails" not run test //...
  expect "names the lock" says 'requirements.lock names by its hash'
  expect "has no folder" not compgen -G "$HOME/.cache/autobatch/libtorch-????????????"
  rm "$MACHINE/bad-hash"
  expect "recovers" run test //...
  expect "fetches anew" times 2 'pip download torch'
}

Disk_Full_SaysSo() {
  make_machine
  touch "$MACHINE/disk-full"
  expect "fails" not run test //...
  expect "while installing" says 'the disk is full'
  touch "$MACHINE/small-disk"
  expect "fails" not run test //...
  expect "before installing" says 'not enough room'
}

Installation_Interrupted_GoesOn() {
  make_machine
  mkfifo "$MACHINE/gate" "$MACHINE/started"
  set -m
  run --setup-only &
  local job=$!
  set +m
  read -r _ <"$MACHINE/started"
  echo go >"$MACHINE/gate"
  read -r _ <"$MACHINE/started" # the second wheel is on its way
  kill -KILL -- -$job
  wait $job 2>/dev/null
  rm "$MACHINE/gate"
  expect "has no folder yet" not compgen -G "$HOME/.cache/autobatch/libtorch-????????????"
  expect "exits 0" run --setup-only
  expect "says that it goes on" says 'going on where an interrupted installation stopped'
  expect "keeps the first wheel" times 1 'pip download nvidia-cublas'
  expect "leaves nothing behind" not compgen -G "$HOME/.cache/autobatch/libtorch-*.*"
}

TwoAtOnce_SecondWaits_InstallsOnce() {
  make_machine
  mkfifo "$MACHINE/gate" "$MACHINE/started" "$MACHINE/second"
  run --setup-only &
  local first=$! line
  read -r _ <"$MACHINE/started"
  "$bazelw" build //x >"$MACHINE/stdout" 2>"$MACHINE/second" &
  local second=$!
  read -r line <"$MACHINE/second"
  expect "says that it waits" test "$line" = "autobatch: another bazelw is installing; waiting for it"
  mv "$MACHINE/gate" "$MACHINE/opened"
  echo go >"$MACHINE/opened"
  expect "first exits 0" wait $first
  expect "second exits 0" wait $second
  expect "second runs bazel" grep -qx 'bazel build //x' "$MACHINE/stdout"
  expect "one installation" times 1 'pip install'
}

LibTorch_Damaged_InstalledAnew() {
  make_machine
  run --setup-only
  rm "$HOME"/.cache/autobatch/libtorch-*/torch/lib/libtorch_cuda.so
  expect "exits 0" run --setup-only
  expect "says so" says 'is incomplete; installing it anew'
  expect "is whole again" compgen -G "$HOME/.cache/autobatch/libtorch-*/torch/lib/libtorch_cuda.so" >/dev/null
}

LibTorch_OfTheUser_NoneInstalled() {
  make_machine
  export LIBTORCH_DIR=/somewhere
  expect "exits 0" run test //...
  expect "calls no pip" not logged "^pip"
}

Machine_NotX86_Refused() {
  make_machine
  FAKE_MACHINE=aarch64
  expect "fails" not run test //...
  expect "names it" says "unsupported machine 'aarch64'"
  expect "before it installs anything" not test -s "$MACHINE/log"
}

System_NotDebian12_Refused() {
  make_machine
  printf 'ID=ubuntu\nVERSION_ID=24.04\nPRETTY_NAME="Ubuntu 24.04"\n' >"$MACHINE/os-release"
  expect "fails" not env OS_RELEASE="$MACHINE/os-release" "$bazelw" test 2>"$MACHINE/stderr"
  expect "names it" says "unsupported system 'Ubuntu 24.04'"
}

Bazel_OtherVersion_Refused() {
  make_machine
  run --setup-only
  unset BAZEL
  echo 5.0.0-1 >"$MACHINE/bazel-version"
  expect "fails" not run test //...
  expect "names both" says 'bazel-bootstrap 5.0.0-1 is installed, and the build files are written for 4.2.3'
}

Home_Unwritable_CacheFolderInstead() {
  make_machine
  export HOME=/proc/nowhere
  expect "fails" not run test //...
  expect "says what to set" says 'Set HOME or XDG_CACHE_HOME'
  export XDG_CACHE_HOME=$MACHINE/cache
  expect "exits 0" run test //...
  expect "tells bazel" grep -q "^bazel --output_user_root=$MACHINE/cache/bazel .* test //...$" "$MACHINE/stdout"
}

for case in $(compgen -A function | grep '^[A-Z]'); do
  "$case"
done
((failures == 0)) && echo "all passed"
