"""Where torch's Python package and the wheels of requirements.lock are, if tools/ci_setup installed them.

Loads as `FRAMEWORKS` from @python_frameworks//:found.bzl: a PYTHONPATH; empty where one of them is missing, so
that the tests that need them say so and are skipped.
"""

def _locked(rctx, name, lock):
    """The folder of the per-user cache that a lock is installed into."""
    environ = rctx.os.environ
    cache = environ.get("XDG_CACHE_HOME", "") or environ.get("HOME", "") + "/.cache"
    digest = rctx.execute(["sha256sum", str(rctx.path(lock))]).stdout[:12]
    return "%s/autobatch/%s-%s" % (cache, name, digest)

def _python_frameworks_repository_impl(rctx):
    wheels = _locked(rctx, "python", Label("//third_party/python:requirements.lock"))
    torch = (rctx.os.environ.get("LIBTORCH_DIR", "") or
             _locked(rctx, "libtorch", Label("//third_party/libtorch:requirements.lock")))
    both = rctx.path(wheels).exists and rctx.path(torch + "/torch/__init__.py").exists
    rctx.file("BUILD.bazel", "")
    rctx.file("found.bzl", "FRAMEWORKS = \"%s\"\n" % (wheels + ":" + torch if both else ""))

python_frameworks_repository = repository_rule(
    implementation = _python_frameworks_repository_impl,
    environ = ["HOME", "LIBTORCH_DIR", "XDG_CACHE_HOME"],
    local = True,
    configure = True,
)
