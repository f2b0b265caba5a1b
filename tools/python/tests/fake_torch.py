"""A stand-in for torch with CUDA: an allocator of which a test decides what it says.

    import fake_torch; cuda = fake_torch.install()
    cuda.use(reserved=5 << 30)     # one more peak
    cuda.run_out(7 << 30)          # raises as torch does
"""

import sys
import types

TOTAL = 80 << 30


class OutOfMemoryError(RuntimeError):
    pass


class Cuda(types.ModuleType):
    def __init__(self, devices=1):
        super().__init__("torch.cuda")
        self.OutOfMemoryError = OutOfMemoryError
        self.devices = devices
        self.current = 0
        self.reserved = [0] * devices
        self.peaks = [0] * devices
        self.fractions = {}
        self.num_alloc_retries = 0
        self.num_ooms = 0
        self.context = 1 << 30
        self.available = True
        self.backend = "native"

    # What a test does.

    def use(self, reserved, device=0):
        self.reserved[device] = reserved
        self.peaks[device] = max(self.peaks[device], reserved)

    def run_out(self, requested):
        self.num_ooms += 1
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate %.2f GiB." % (requested / 2**30))

    # What torch has.

    def is_available(self):
        return self.available

    def get_allocator_backend(self):
        return self.backend

    def device_count(self):
        return self.devices

    def current_device(self):
        return self.current

    def synchronize(self, device=None):
        pass

    def get_device_properties(self, device):
        return types.SimpleNamespace(uuid="%08d-0000" % device, total_memory=TOTAL)

    def mem_get_info(self, device):
        return TOTAL - self.context - self.reserved[device], TOTAL

    def memory_reserved(self, device):
        return self.reserved[device]

    def set_per_process_memory_fraction(self, fraction, device):
        self.fractions[device] = fraction

    def reset_peak_memory_stats(self, device):
        self.peaks[device] = self.reserved[device]

    def memory_stats(self, device):
        return {
            "reserved_bytes.all.peak": self.peaks[device],
            "allocated_bytes.all.peak": self.peaks[device] // 2,
            "requested_bytes.all.peak": self.peaks[device] // 4,
            "num_alloc_retries": self.num_alloc_retries,
            "num_ooms": self.num_ooms,
        }


def install(devices=1):
    """`import torch` finds it from now on."""
    torch = types.ModuleType("torch")
    torch.__version__ = "2.11.0"
    torch.cuda = Cuda(devices)
    sys.modules["torch"] = torch
    sys.modules["torch.cuda"] = torch.cuda
    return torch.cuda
