"""The memory of the device that this process trains on: what it takes of it, and the hard limit."""

from __future__ import annotations

import os
import resource
import sys
from typing import Any, Dict, Optional, Tuple

Json = Dict[str, Any]

# From here on libraries that allocate behind the allocator's back find nothing.
_NEARLY_FULL = 0.9
_NEARLY_NOTHING = 256 << 20
# What the address-space limit leaves for stacks of threads that start during the trial.
_STACKS_PER_CORE = 16 << 20


class Memory:
    """A device of which nothing can be read: the driver's view, from outside, is all there is."""

    # Its number among the visible ones.
    index: Optional[int] = None

    def uuid(self) -> Optional[str]:
        return None

    def view(self) -> Tuple[Optional[int], Optional[int]]:
        """(total, free) bytes of the whole device; None where nobody can tell."""
        return None, None

    def held(self) -> int:
        """Bytes that this process holds now, cache included."""
        return 0

    def set_limit(self, budget: Optional[int]) -> None:
        """The most bytes that this process may hold from now on; None, no limit."""

    def peak(self) -> Json:
        """Greatest use since `reset_peak`, as a MemoryPeak (autobatch/types/observation.h)."""
        return {"reserved_bytes": 0, "allocated_bytes": 0, "requested_bytes": None}

    def reset_peak(self) -> None:
        pass

    def retries(self) -> int:
        """Times that the allocator gave its cache back and tried again."""
        return 0

    def refusals(self) -> int:
        """Times that the allocator ran out."""
        return 0

    def synchronize(self) -> None:
        """Waits for the device: times then belong to what ran before."""

    def noise(self, peak: int) -> int:
        """Growth above this peak that is noise and no trend."""
        return 0

    def nearly_full(self, budget: Optional[int]) -> bool:
        peak = self.peak()["reserved_bytes"]
        if budget is not None and peak >= _NEARLY_FULL * budget:
            return True
        free = self.view()[1]
        return free is not None and free < _NEARLY_NOTHING


class CpuMemory(Memory):
    """What the process holds of the host's memory, the interpreter and its libraries included: the probe's
    own limit counts these too."""

    def noise(self, peak: int) -> int:
        # The heap of a process of some size comes and goes in pieces that grow with it.
        return max(4 << 20, peak // 100)

    def __init__(self) -> None:
        self._can_reset = True
        self._limits = resource.getrlimit(resource.RLIMIT_DATA)

    def view(self) -> Tuple[Optional[int], Optional[int]]:
        return _kibibytes("/proc/meminfo", "MemTotal:"), _kibibytes("/proc/meminfo", "MemAvailable:")

    def held(self) -> int:
        resident = _kibibytes("/proc/self/status", "VmRSS:")
        return host_peak_bytes() if resident is None else resident

    def set_limit(self, budget: Optional[int]) -> None:
        # The kernel limits what is mapped for writing, which is a little more than what is resident:
        # this stops an allocation that would swamp the host, and the peak decides the rest.
        soft = self._limits[0]
        mapped = _kibibytes("/proc/self/status", "VmData:")
        if budget is not None and mapped is not None:
            room = max(0, budget - self.held()) + _STACKS_PER_CORE * (os.cpu_count() or 1)
            soft = mapped + room
            if self._limits[1] != resource.RLIM_INFINITY:
                soft = min(soft, self._limits[1])
        resource.setrlimit(resource.RLIMIT_DATA, (soft, self._limits[1]))

    def peak(self) -> Json:
        high = _kibibytes("/proc/self/status", "VmHWM:")
        if high is None:
            high = host_peak_bytes()
        return {"reserved_bytes": high, "allocated_bytes": high, "requested_bytes": None}

    def reset_peak(self) -> None:
        if not self._can_reset:
            return
        try:
            with open("/proc/self/clear_refs", "w") as clear_refs:
                clear_refs.write("5")
        except OSError:
            self._can_reset = False  # The peak of the whole process stands for each step's, then.


class CudaMemory(Memory):
    """torch's caching allocator on one device. Creates the context."""

    index: int

    def __init__(self, torch: Any, index: int, names_itself: bool) -> None:
        self._cuda = torch.cuda
        self.index = index
        self._names_itself = names_itself
        self._cuda.synchronize(index)
        self._properties = self._cuda.get_device_properties(index)

    def uuid(self) -> Optional[str]:
        if not self._names_itself:
            return None
        uuid = getattr(self._properties, "uuid", None)  # From torch 2.5 on.
        return "GPU-%s" % uuid if uuid is not None else _visible_uuid(self.index)

    def view(self) -> Tuple[Optional[int], Optional[int]]:
        free, total = self._cuda.mem_get_info(self.index)
        return int(total), int(free)

    def held(self) -> int:
        return int(self._cuda.memory_reserved(self.index))

    def set_limit(self, budget: Optional[int]) -> None:
        fraction = 1.0
        if budget is not None:
            # The allocator multiplies by its own idea of the total: by the larger one the limit is never
            # above what was asked.
            total = max(int(self._properties.total_memory), self.view()[0] or 0)
            fraction = min(1.0, max(0.0, budget / total))
        self._cuda.set_per_process_memory_fraction(fraction, self.index)

    def peak(self) -> Json:
        stats = self._cuda.memory_stats(self.index)
        return {
            "reserved_bytes": stats.get("reserved_bytes.all.peak", 0),
            "allocated_bytes": stats.get("allocated_bytes.all.peak", 0),
            "requested_bytes": stats.get("requested_bytes.all.peak"),
        }

    def reset_peak(self) -> None:
        self._cuda.reset_peak_memory_stats(self.index)

    def retries(self) -> int:
        return int(self._cuda.memory_stats(self.index).get("num_alloc_retries", 0))

    def refusals(self) -> int:
        return int(self._cuda.memory_stats(self.index).get("num_ooms", 0))

    def synchronize(self) -> None:
        self._cuda.synchronize(self.index)


def cuda_in_use() -> Optional[Any]:
    """torch, if the program imported it."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "cuda") else None


def busiest_device(torch: Any) -> int:
    """The device that tensors are on; the current one if there are none yet."""
    current = int(torch.cuda.current_device())
    if torch.cuda.memory_reserved(current) > 0:
        return current
    held = [int(torch.cuda.memory_reserved(index)) for index in range(torch.cuda.device_count())]
    return held.index(max(held)) if max(held) > 0 else current


def _visible_uuid(index: int) -> Optional[str]:
    """The device of this number, where the probe names it in the environment."""
    names = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return names[index] if index < len(names) and names[index].startswith("GPU-") else None


def host_peak_bytes() -> int:
    """The most that this process held of the host's memory, since its peak was last reset."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _kibibytes(path: str, name: str) -> Optional[int]:
    try:
        with open(path) as lines:
            for line in lines:
                if line.startswith(name):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
