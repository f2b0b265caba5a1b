"""Every external repository of the project, under its upstream's name."""

load("//third_party/absl:absl.bzl", "absl_repository")
load("//third_party/bazel:tools.bzl", "tool_repositories")
load("//third_party/libtorch:libtorch.bzl", "libtorch_repository")
load("//third_party/python:frameworks.bzl", "python_frameworks_repository")
load("//third_party:system.bzl", "system_repository")

def autobatch_repositories():
    tool_repositories()
    absl_repository(name = "com_google_absl")
    system_repository(
        name = "com_github_google_glog",
        package = "libgoogle-glog-dev",
        header = "glog/logging.h",
        build_file = "//third_party/glog:glog.BUILD",
    )
    system_repository(
        name = "com_google_googletest",
        package = "libgtest-dev libgmock-dev",
        header = "gmock/gmock.h",
        build_file = "//third_party/googletest:googletest.BUILD",
    )
    system_repository(
        name = "com_github_google_benchmark",
        package = "libbenchmark-dev",
        header = "benchmark/benchmark.h",
        build_file = "//third_party/benchmark:benchmark.BUILD",
        optional = True,
    )
    system_repository(
        name = "boost",
        package = "libboost1.81-dev libboost-json1.81-dev",
        header = "boost/json.hpp",
        build_file = "//third_party/boost:boost.BUILD",
    )
    system_repository(
        name = "openssl",
        package = "libssl-dev",
        header = "openssl/ssl.h",
        build_file = "//third_party/openssl:openssl.BUILD",
    )
    libtorch_repository(name = "libtorch")
    python_frameworks_repository(name = "python_frameworks")
