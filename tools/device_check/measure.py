"""One measurement in a process of its own: `measure.py PART [ARGUMENT…]` prints a JSON object.

The same measurement runs on the real card and, under the preload library, on a simulated one.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
import time
from typing import Any, Callable

MIB = 1 << 20


def visible() -> dict[str, Any]:
    """What the driver shows of this environment: identifiers of the devices, in its order."""
    driver = ctypes.CDLL("libcuda.so.1")
    status, count, version = driver.cuInit(0), ctypes.c_int(0), ctypes.c_int(0)
    if status == 0:
        driver.cuDeviceGetCount(ctypes.byref(count))
    driver.cuDriverGetVersion(ctypes.byref(version))
    uuids = []
    for ordinal in range(count.value):
        raw = ctypes.create_string_buffer(16)
        driver.cuDeviceGetUuid_v2(raw, ordinal)
        text = raw.raw.hex()
        uuids.append("-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]]))
    return {"status": status, "uuids": uuids, "driver": version.value}


def used() -> int:
    """What the driver says is taken of the card, by whomever."""
    import torch
    free, total = torch.cuda.mem_get_info()
    return total - free


def outside() -> int:
    """Of that, what the framework's allocator does not hold."""
    import torch
    torch.cuda.synchronize()
    return used() - torch.cuda.memory_reserved()


def card() -> dict[str, Any]:
    """The card, and what a context, kernels and the libraries' handles take of it."""
    import torch
    properties = torch.cuda.get_device_properties(0)
    nvml, handle, memory = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()
    nvml.nvmlInit_v2()
    nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))

    def taken() -> int:
        nvml.nvmlDeviceGetMemoryInfo(handle, memory)
        return memory[2]

    before = taken()
    torch.cuda.init()
    torch.cuda.mem_get_info()
    context = taken() - before
    x = torch.empty(1 << 20, device="cuda")
    start = outside()
    # Elementwise kernels of one kind each: none brings a library with it.
    kinds: list[Callable[[], Any]] = [x.sin, x.cos, x.tan, x.exp, x.log, x.sqrt, x.abs, x.neg, x.tanh, x.erf,
                                      x.sigmoid, x.floor, x.ceil, x.round, x.sign, x.reciprocal]
    for kind in kinds:
        kind()
    kernels = outside() - start
    m = torch.empty(256, 256, device="cuda")
    start = outside()
    torch.mm(m, m)
    blas = outside() - start
    image, weight = torch.empty(2, 8, 16, 16, device="cuda"), torch.empty(8, 8, 3, 3, device="cuda")
    start = outside()
    torch.conv2d(image, weight)
    dnn = outside() - start
    return {"name": properties.name, "total": properties.total_memory, "major": properties.major,
            "minor": properties.minor, "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
            "context": context, "kernels": kernels, "kinds": len(kinds), "cublas": blas, "cudnn": dnn}


SHAPES = [(8, 64, 56, 64, 3), (8, 128, 28, 128, 3), (8, 256, 14, 256, 3), (8, 3, 224, 64, 7), (32, 64, 56, 128, 3),
          (32, 64, 56, 64, 1)]


def convolutions() -> dict[str, Any]:
    """Workspace of each pass by shape, in copies of the bytes of x, w and y; pointwise shapes by name."""
    import torch
    found: dict[str, dict[str, float]] = {}
    for dtype, label in [(torch.float32, "float32"), (torch.float16, "half")]:
        for n, c, side, k, size in SHAPES:
            x = torch.empty(n, c, side, side, dtype=dtype, device="cuda")
            w = torch.empty(k, c, size, size, dtype=dtype, device="cuda")
            y = torch.conv2d(x, w, padding=size // 2)
            whole = sum(t.numel() * t.element_size() for t in (x, w, y))

            def backward(mask: list[bool]) -> Any:
                pads = [size // 2, size // 2]
                return torch.ops.aten.convolution_backward(y, x, w, None, [1, 1], pads, [1, 1], False, [0, 0], 1, mask)

            passes = {"forward": lambda: torch.conv2d(x, w, padding=size // 2),
                      "backward_data": lambda: backward([True, False, False]),
                      "backward_filter": lambda: backward([False, True, False])}
            for name, run in passes.items():
                run()
                torch.cuda.reset_peak_memory_stats()
                kept = run()
                after = torch.cuda.memory_allocated()
                copies = (torch.cuda.max_memory_allocated() - after) / whole
                del kept
                found.setdefault(f"{label}_{name}", {})[f"{n}x{c}x{side}x{side} {k}x{size}x{size}"] = copies
    return {"copies": found}


def train(name: str, batch: str) -> dict[str, Any]:
    """Peaks of three training steps, and the allocator's own trace of them."""
    import torch
    import zoo
    torch.cuda.memory._record_memory_history(context=None, max_entries=200000)
    model = zoo.MODELS[name]().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(3):
        zoo.step(model, optimizer, name, int(batch))
    torch.cuda.synchronize()
    trace = [(e["action"], e["size"]) for e in torch.cuda.memory._snapshot()["device_traces"][0]]
    segments = [entry for entry in trace if entry[0].startswith("segment")]
    return {"reserved": torch.cuda.max_memory_reserved(), "allocated": torch.cuda.max_memory_allocated(),
            "events": len(trace), "segments": len(segments),
            "trace": hashlib.sha256(json.dumps(trace).encode()).hexdigest()[:16]}


def nccl() -> dict[str, Any]:
    """A communicator of one rank: what it takes, and a reduction's result."""
    import torch
    import torch.distributed as dist
    torch.cuda.set_device(0)
    number = torch.tensor([42], device="cuda")
    start = outside()
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    dist.all_reduce(number, op=dist.ReduceOp.MIN)
    taken = outside() - start
    result = int(number.item())
    dist.destroy_process_group()
    return {"taken": taken, "result": result}


def soak(budget: str, steps: str, seconds: str) -> dict[str, Any]:
    """A batch that nearly fills the budget, found by doubling and confirmed, then trained on for long."""
    import torch
    import zoo
    limit, total = int(budget), torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit / total))
    model = zoo.MODELS["resnet50"]().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    begin, peaks, batch = time.monotonic(), {}, 8
    while batch <= 64 or peaks[batch // 2] * 2.2 < limit:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        zoo.step(model, optimizer, "resnet50", batch)
        peaks[batch], batch = torch.cuda.max_memory_reserved(), batch * 2
        if peaks[batch // 2] > limit / 2.2:
            break
    first, last = min(peaks), max(peaks)
    slope = (peaks[last] - peaks[first]) / (last - first)
    chosen = max(1, int((0.9 * limit - peaks[first]) / slope) + first)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    zoo.step(model, optimizer, "resnet50", chosen)
    confirmed = torch.cuda.max_memory_reserved()
    done = 0
    while done < int(steps) and time.monotonic() - begin < float(seconds):
        zoo.step(model, optimizer, "resnet50", chosen)
        torch.cuda.synchronize()
        done += 1
    return {"batch": chosen, "confirmed": confirmed, "after": torch.cuda.max_memory_reserved(), "steps": done}


PARTS = {part.__name__: part for part in (visible, card, convolutions, train, nccl, soak)}

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    print(json.dumps(PARTS[sys.argv[1]](*sys.argv[2:])))
