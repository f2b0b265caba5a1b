"""Debian's Abseil under the labels of the upstream.

Every label links the same group of archives: the linker takes from them what a program uses.
"""

_LABELS = {
    "absl/algorithm": ["container"],
    "absl/base": ["core_headers", "log_severity"],
    "absl/cleanup": ["cleanup"],
    "absl/container": ["btree", "flat_hash_map", "flat_hash_set", "inlined_vector"],
    "absl/flags": ["flag", "marshalling", "parse", "reflection", "usage"],
    "absl/functional": ["any_invocable", "function_ref"],
    "absl/hash": ["hash"],
    "absl/memory": ["memory"],
    "absl/meta": ["type_traits"],
    "absl/numeric": ["bits", "int128"],
    "absl/random": ["random"],
    "absl/status": ["status", "statusor"],
    "absl/strings": ["cord", "str_format", "strings"],
    "absl/time": ["time"],
    "absl/types": ["optional", "span", "variant"],
}

_LIB = "/usr/lib/x86_64-linux-gnu"

def _absl_repository_impl(rctx):
    archives = [
        entry.basename
        for entry in rctx.path(_LIB).readdir()
        if entry.basename.startswith("libabsl_") and entry.basename.endswith(".a")
    ]
    if not rctx.path("/usr/include/absl/status/status.h").exists or not archives:
        fail("Abseil is not installed. Run ./bazelw once, or: apt-get install libabsl-dev")
    rctx.file("BUILD.bazel", """
cc_library(
    name = "archives",
    linkopts = ["-Wl,--start-group"] + %r + ["-Wl,--end-group", "-pthread"],
    visibility = ["//:__subpackages__"],
)
""" % ["-l:" + archive for archive in sorted(archives)])
    for package, names in _LABELS.items():
        rctx.file(package + "/BUILD.bazel", "".join(["""
cc_library(
    name = %r,
    visibility = ["//visibility:public"],
    deps = ["//:archives"],
)
""" % name for name in names]))

absl_repository = repository_rule(
    implementation = _absl_repository_impl,
    local = True,
    configure = True,
)
