"""LibTorch as its wheel lays it out, with the CUDA and NCCL headers of the wheels beside it.

Looked for in $LIBTORCH_DIR, else in the per-user cache that bazelw fills.
"""

def _find(rctx):
    own = rctx.os.environ.get("LIBTORCH_DIR", "")
    if own:
        return rctx.path(own), "LIBTORCH_DIR=" + own
    home = rctx.os.environ.get("HOME", "")
    cache = rctx.os.environ.get("XDG_CACHE_HOME", "") or home + "/.cache"
    lock = rctx.path(Label("//third_party/libtorch:requirements.lock"))
    digest = rctx.execute(["sha256sum", str(lock)]).stdout[:12]
    return rctx.path(cache + "/autobatch/libtorch-" + digest), "the per-user cache"

def _libtorch_repository_impl(rctx):
    root, origin = _find(rctx)
    torch = root.get_child("torch")
    if not torch.get_child("version.py").exists:
        fail("LibTorch is not in %s (%s). Run ./bazelw once to install it." % (root, origin))
    rctx.symlink(torch.get_child("include"), "include")
    rctx.symlink(root.get_child("nvidia").get_child("cu13").get_child("include"), "cuda_include")
    rctx.symlink(root.get_child("nvidia").get_child("nccl").get_child("include"), "nccl_include")
    rctx.template("BUILD.bazel", Label("//third_party/libtorch:libtorch.BUILD"), {
        "{LIB}": str(torch.get_child("lib").realpath),
    })

libtorch_repository = repository_rule(
    implementation = _libtorch_repository_impl,
    environ = ["LIBTORCH_DIR", "HOME", "XDG_CACHE_HOME"],
    local = True,
    configure = True,
)
