"""Programs that also run out of an unpacked tarball (//tools:dist)."""

# The C++ library goes into the program: that of the building machine may be newer than a node's, and
# needs a newer glibc than the program itself. What else is shared is in the tarball's lib/,
# from bin/ and from ROOM/PACKAGE/ below its root; elsewhere there is no such folder.
_PACKED = [
    "-Wl,--as-needed,--gc-sections,--exclude-libs=libstdc++.a",
    "-l:libstdc++.a",
    "-Wl,--disable-new-dtags,-rpath,$$ORIGIN/../lib:$$ORIGIN/../../lib",
]

def program(name, linkopts = [], **kwargs):
    native.cc_binary(
        name = name,
        linkopts = linkopts + _PACKED,
        **kwargs
    )
