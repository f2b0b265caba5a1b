"""Debian's Bazel looks up its own rule sets on the network; these are the installed ones."""

def _rules_cc_impl(rctx):
    rules = [
        "cc_binary",
        "cc_import",
        "cc_library",
        "cc_proto_library",
        "cc_test",
        "cc_toolchain",
        "cc_toolchain_suite",
        "fdo_prefetch_hints",
        "fdo_profile",
        "objc_import",
        "objc_library",
    ]
    rctx.file("BUILD.bazel")
    rctx.file("cc/BUILD.bazel")
    rctx.file("cc/defs.bzl", "".join(["%s = native.%s\n" % (rule, rule) for rule in rules]))

_rules_cc = repository_rule(implementation = _rules_cc_impl)

def _coverage_tools_impl(rctx):
    rctx.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])
filegroup(name = "coverage_report_generator")
filegroup(name = "coverage_output_generator")
""")

_coverage_tools = repository_rule(implementation = _coverage_tools_impl)

def tool_repositories():
    native.local_repository(name = "rules_java", path = "/usr/share/bazel/rules/java")
    native.local_repository(name = "rules_proto", path = "/usr/share/bazel/rules/proto")
    native.local_repository(name = "platforms", path = "/usr/share/bazel/platforms")
    _rules_cc(name = "rules_cc")
    _coverage_tools(name = "remote_coverage_tools")
    native.register_toolchains("//third_party/python:toolchain")
