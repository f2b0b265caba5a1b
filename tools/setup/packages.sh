# Debian packages: which are missing, and installing them.
# Sourced by bazelw after common.sh.
# shellcheck shell=bash

# /usr/bin/bazel is a script that refuses a .bazelversion with Debian's version, so the package's own
# version is what says that this is the bazel the build files are written for.
readonly BAZEL_VERSION=4.2.3

mapfile -t PACKAGES < <(grep -v '^#' "$AUTOBATCH_ROOT/tools/setup/packages.txt")
MISSING=()

# Fills MISSING; true when nothing is. One dpkg-query, some 5 ms.
packages_ready() {
  MISSING=()
  if ! command -v dpkg-query >/dev/null; then
    die "this is not Debian 12 (there is no dpkg-query). ./bazelw supports Debian 12 on x86-64;" \
      "elsewhere bring the likes of these and call bazel $BAZEL_VERSION yourself: ${PACKAGES[*]}"
  fi
  local -A installed=()
  local status name version
  while read -r status name version; do
    [[ $status == ii ]] && installed[$name]=$version
  done < <(dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' "${PACKAGES[@]}" 2>/dev/null)
  for name in "${PACKAGES[@]}"; do
    [[ -n ${installed[$name]-} ]] || MISSING+=("$name")
  done
  version=${installed[bazel-bootstrap]-}
  if [[ -n $version && $version != "$BAZEL_VERSION"* && -z ${BAZEL-} ]]; then
    die "bazel-bootstrap $version is installed, and the build files are written for $BAZEL_VERSION" \
      "(Debian 12's). Install that, or name another bazel $BAZEL_VERSION in the variable BAZEL."
  fi
  ((${#MISSING[@]} == 0))
}

# True when one of the packages is newer than Bazel's look at the compiler in this clone: the headers
# of /usr/include that a target may name were listed then, and a new library's are not among them.
packages_newer_than_bazels_look() {
  local looked=$AUTOBATCH_ROOT/bazel-out/../../../external/local_config_cc/module.modulemap
  [[ -e $looked ]] || return 1
  local name list
  for name in "${PACKAGES[@]}"; do
    for list in "${DPKG_ADMINDIR:-/var/lib/dpkg}/info/$name"{,:amd64}.list; do
      [[ ! $list -nt $looked ]] || return 0
    done
  done
  return 1
}

require_debian_12_on_x86_64() {
  local machine
  machine=$(uname -m)
  [[ $machine == x86_64 ]] ||
    die "unsupported machine '$machine': LibTorch is locked for x86_64 (see LIBTORCH_DIR in ./bazelw)."
  local id version name
  # shellcheck source=/dev/null
  read -r id version name < <(. "${OS_RELEASE:-/etc/os-release}" && echo "$ID ${VERSION_ID:-?} $PRETTY_NAME")
  [[ $id == debian && $version == 12 ]] ||
    die "unsupported system '$name': the packages are named as Debian 12 has them: ${MISSING[*]}." \
      "Install their like; once dpkg-query knows them ./bazelw asks for nothing."
}

install_packages() {
  require_debian_12_on_x86_64
  local apt=(apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=600)
  local command="apt-get update && apt-get install --no-install-recommends ${MISSING[*]}"
  local as_root=(env DEBIAN_FRONTEND=noninteractive)
  if [[ $(id -u) != 0 ]]; then
    if ! sudo -n true 2>/dev/null; then
      die "Debian packages are missing, and installing them takes root (sudo is not there or asks" \
        "for a password). As root: $command"
    fi
    # sudo clears the environment, and a proxy is often set nowhere else.
    as_root=(sudo -n env DEBIAN_FRONTEND=noninteractive)
    local variable
    for variable in http_proxy https_proxy no_proxy; do
      [[ -z ${!variable-} ]] || as_root+=("$variable=${!variable}")
    done
  fi
  say "installing Debian packages: ${MISSING[*]}"
  # A stale list alone is no reason to give up: the packages may come from a local mirror.
  "${as_root[@]}" "${apt[@]}" update >&2 || say "apt-get update failed; trying with the lists at hand"
  if ! "${as_root[@]}" "${apt[@]}" install -y --no-install-recommends "${MISSING[@]}" >&2; then
    die "apt-get could not install the packages (its own words are above: no network, a full disk," \
      "or no Debian mirror in /etc/apt). To try by hand, as root: $command"
  fi
  packages_ready || die "apt-get succeeded, yet these are still not installed: ${MISSING[*]}"
}
