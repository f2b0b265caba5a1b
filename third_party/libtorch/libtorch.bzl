"""LibTorch with its CUDA, cuDNN and NCCL headers, from $LIBTORCH_DIR or the per-user cache that bazelw fills.

LIBTORCH_DIR may be a pip target folder (or site-packages), the torch folder in it, or an unpacked
libtorch zip; the zip brings no CUDA headers, which then come from $CUDA_HOME or /usr/local/cuda. What
is found is checked before anything is compiled, because a wrong one fails late and obscurely.
"""

_VERSION = "2.11"
_LIBRARIES = ["libc10.so", "libtorch.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so"]
_HEADERS = ["torch/script.h", "torch/csrc/api/include/torch/torch.h", "c10/cuda/CUDACachingAllocator.h"]
_HELP = " Unset LIBTORCH_DIR and run ./bazelw once to install the right one."

def _root(rctx):
    own = rctx.os.environ.get("LIBTORCH_DIR", "")
    if own:
        return rctx.path(own), "LIBTORCH_DIR=" + own
    home = rctx.os.environ.get("HOME", "")
    cache = rctx.os.environ.get("XDG_CACHE_HOME", "") or home + "/.cache"
    lock = rctx.path(Label("//third_party/libtorch:requirements.lock"))
    digest = rctx.execute(["sha256sum", str(lock)]).stdout[:12]
    return rctx.path(cache + "/autobatch/libtorch-" + digest), "the per-user cache"

def _below(folder, *names):
    """Starlark's get_child takes one name at a time."""
    for name in names:
        folder = folder.get_child(name)
    return folder

def _torch_folder(root, origin):
    """The folder that holds include/ and lib/, for each of the layouts that root may have."""
    for folder in [root.get_child("torch"), root]:
        if _below(folder, "lib", "libc10.so").exists:
            return folder.realpath
    fail(("LibTorch is not in %s (%s): no torch/lib/libc10.so and no lib/libc10.so. Run ./bazelw once to " +
          "install it, or set LIBTORCH_DIR to a pip target folder, the torch folder in it, or an " +
          "unpacked libtorch zip.") % (root, origin))

def _check_files(torch):
    for name in _LIBRARIES:
        if not _below(torch, "lib", name).exists:
            fail(("%s has no lib/%s: this is a CPU-only or a damaged LibTorch; the build needs %s with " +
                  "CUDA (it runs without a GPU too).") % (torch, name, _VERSION) + _HELP)
    for name in _HEADERS:
        if not _below(torch, "include", *name.split("/")).exists:
            fail("%s has no include/%s: its headers are missing." % (torch, name) + _HELP)

def _check_version(rctx, torch):
    found = {}
    for name in ["torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"]:
        header = _below(torch, "include", *name.split("/"))
        if header.exists:
            for line in rctx.read(header).splitlines():
                words = line.split(" ")
                if len(words) == 3 and words[0] == "#define":
                    found[words[1]] = words[2]
    version = ".".join([found.get("TORCH_VERSION_" + part, "?") for part in ["MAJOR", "MINOR"]])
    if version != _VERSION:
        fail("LibTorch %s is in %s; expected %s." % (version, torch, _VERSION) + _HELP)
    return version + "." + found.get("TORCH_VERSION_PATCH", "?")

def _check_binary(rctx, torch):
    library = str(_below(torch, "lib", "libc10.so"))
    machine = rctx.execute(["od", "-An", "-tx1", "-j18", "-N2", library]).stdout.strip()
    if machine != "3e 00":
        fail("%s is not an x86-64 library (ELF machine bytes: %s)." % (library, machine) + _HELP)
    if rctx.execute(["grep", "-q", "-a", "__cxx1112basic_string", library]).return_code != 0:
        fail(("%s is built with the old C++ ABI (its std::string is not std::__cxx11::string): our " +
              "objects would not link with it. Of libtorch zips take the cxx11-abi one.") % library + _HELP)

def _nvidia_folder(torch):
    """The nvidia/ folder of a pip installation, or None."""
    folder = torch.dirname.get_child("nvidia")
    return folder if folder.exists else None

def _cuda_include(rctx, torch):
    nvidia = _nvidia_folder(torch)
    tried = []
    if nvidia:
        tried.append(_below(nvidia, "cu13", "include"))
    tried.append(rctx.path((rctx.os.environ.get("CUDA_HOME", "") or "/usr/local/cuda") + "/include"))
    for folder in tried:
        if not folder.get_child("cuda_runtime_api.h").exists:
            continue
        for header, wheel in [("crt/host_defines.h", "crt"), ("nv/target", "cccl")]:
            if not _below(folder, *header.split("/")).exists:
                fail("CUDA's headers in %s are not whole: %s is missing." % (folder, header) +
                     " It has a wheel of its own: pip install nvidia-cuda-%s." % wheel)
        return folder
    fail("LibTorch is in %s, but CUDA's headers are not beside it. Looked for cuda_runtime_api.h in: %s." %
         (torch, ", ".join([str(folder) for folder in tried])) +
         " Install the CUDA toolkit and set CUDA_HOME to it.")

def _nccl_include(torch, cuda_include):
    nvidia = _nvidia_folder(torch)
    for folder in ([_below(nvidia, "nccl", "include")] if nvidia else []) + [cuda_include]:
        if folder.get_child("nccl.h").exists:
            return folder
    return None

def _libtorch_repository_impl(rctx):
    root, origin = _root(rctx)
    torch = _torch_folder(root, origin)
    _check_files(torch)
    version = _check_version(rctx, torch)
    _check_binary(rctx, torch)
    cuda_include = _cuda_include(rctx, torch)
    nccl_include = _nccl_include(torch, cuda_include)

    rctx.symlink(torch.get_child("include"), "include")
    rctx.symlink(cuda_include, "cuda_include")
    if nccl_include:
        rctx.symlink(nccl_include, "nccl_include")
    nvidia = _nvidia_folder(torch)
    for library in ["cudnn", "cusparselt"]:
        if nvidia and _below(nvidia, library, "include").exists:
            rctx.symlink(_below(nvidia, library, "include"), library + "_include")
    rctx.symlink(torch.get_child("lib"), "lib")
    nccl_lib = nccl_include.dirname.get_child("lib") if nccl_include else None
    if nccl_lib and not nccl_lib.exists:
        nccl_lib = None
    rctx.file("version", version)
    rctx.template("BUILD.bazel", Label("//third_party/libtorch:libtorch.BUILD"), {
        "{HAVE_NCCL}": "1" if nccl_include else "0",
        "{LIB}": str(torch.get_child("lib").realpath),
        "{NCCL_LINKOPTS}": repr(["-Wl,-rpath," + str(nccl_lib.realpath)] if nccl_lib else []),
    })

libtorch_repository = repository_rule(
    implementation = _libtorch_repository_impl,
    environ = ["CUDA_HOME", "HOME", "LIBTORCH_DIR", "XDG_CACHE_HOME"],
    local = True,
    configure = True,
)
