"""A library that the distribution installs, under its upstream's label."""

def _system_repository_impl(rctx):
    found = any([
        rctx.path(folder + "/" + rctx.attr.header).exists
        for folder in ["/usr/include", "/usr/local/include"]
    ])
    rctx.symlink(rctx.attr.build_file, "BUILD.bazel")
    rctx.file("found.bzl", "FOUND = %d\n" % (1 if found else 0))
    if not found and not rctx.attr.optional:
        fail(("%s is not installed: no %s below /usr/include. Run ./bazelw once, or install " +
              "it: apt-get install %s") % (rctx.name, rctx.attr.header, rctx.attr.package))

system_repository = repository_rule(
    implementation = _system_repository_impl,
    attrs = {
        "package": attr.string(mandatory = True, doc = "Debian packages that bring it"),
        "header": attr.string(mandatory = True, doc = "a header that shows it is there"),
        "build_file": attr.label(mandatory = True, allow_single_file = True),
        "optional": attr.bool(doc = "when missing, the build file makes stubs of it (it loads FOUND from :found.bzl)"),
    },
    local = True,
    configure = True,
)
