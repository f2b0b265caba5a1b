"""Programs that open the driver and NVML by name, and are not preloaded, see the same devices."""

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tests.simcuda.simulated import DRIVER_FOLDER, environment, start

GIB = 1 << 30


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong),
                ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


def text(function, *arguments):
    buffer = ctypes.create_string_buffer(96)
    function(*arguments, buffer, 96)
    return buffer.value.decode()


def describe():
    """What NVML and the driver tell, as a JSON object on stdout."""
    nvml, cuda = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.CDLL("libcuda.so.1")
    answer = {"nvml": nvml.nvmlInit_v2(), "cuda": cuda.cuInit(0), "gpus": [], "visible": []}
    count, handle, memory = ctypes.c_uint(0), ctypes.c_void_p(), Memory()
    nvml.nvmlDeviceGetCount_v2(ctypes.byref(count))
    for index in range(count.value):
        nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle))
        nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        processes, users = (Process * 8)(), ctypes.c_uint(8)
        nvml.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(users), processes)
        answer["gpus"].append({"name": text(nvml.nvmlDeviceGetName, handle),
                               "uuid": text(nvml.nvmlDeviceGetUUID, handle),
                               "total": memory.total, "free": memory.free,
                               "pids": [p.pid for p in processes[:users.value]],
                               "bytes": [p.bytes for p in processes[:users.value]]})
    cuda.cuDeviceGetCount(ctypes.byref(count))
    for ordinal in range(count.value):
        uuid = ctypes.create_string_buffer(16)
        cuda.cuDeviceGetUuid_v2(uuid, ordinal)
        answer["visible"].append(uuid.raw.hex())
    print(json.dumps(answer))


def ask(devices, **variables):
    clean = environment(devices, LD_LIBRARY_PATH=DRIVER_FOLDER, **variables)
    del clean["LD_PRELOAD"]
    done = subprocess.run([sys.executable, __file__, "describe"], env=clean, text=True,
                          capture_output=True, timeout=60, check=True)
    return json.loads(done.stdout)


class DriverFolderTest(unittest.TestCase):
    def test_nvml_shows_all_gpus_and_the_driver_the_visible_ones(self):
        seen = ask("rtx3090,a100-80", CUDA_VISIBLE_DEVICES="1")
        self.assertEqual((seen["nvml"], seen["cuda"]), (0, 0))
        self.assertEqual([gpu["name"] for gpu in seen["gpus"]],
                         ["NVIDIA GeForce RTX 3090", "NVIDIA A100-SXM4-80GB"])
        self.assertEqual(seen["gpus"][0]["total"], 24 * GIB)
        self.assertEqual(seen["gpus"][0]["free"], 25414860800)
        uuids = [gpu["uuid"].replace("-", "")[len("GPU"):] for gpu in seen["gpus"]]
        self.assertEqual(seen["visible"], [uuids[1]])

    def test_devices_of_two_nodes_have_names_of_their_own(self):
        first, again = ask("t4"), ask("t4")
        other = ask("t4", AUTOBATCH_SIM_NODE="other")
        self.assertEqual(first["gpus"][0]["uuid"], again["gpus"][0]["uuid"])
        self.assertNotEqual(first["gpus"][0]["uuid"], other["gpus"][0]["uuid"])

    def test_without_devices_there_is_no_driver(self):
        seen = ask("")
        self.assertEqual((seen["nvml"], seen["cuda"], seen["gpus"]), (9, 100, []))

    def test_a_process_that_trains_is_seen_with_its_memory(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            holder = start("rtx3090", f"hold={2 * GIB}", AUTOBATCH_SIM_SHARED=folder)
            self.assertEqual(json.loads(holder.stdout.readline()), {"held": 2 * GIB})
            [gpu] = ask("rtx3090", AUTOBATCH_SIM_SHARED=folder)["gpus"]
            self.assertEqual(gpu["pids"], [holder.pid])
            self.assertGreater(gpu["bytes"][0], 2 * GIB)
            self.assertEqual(gpu["free"], 25414860800 - gpu["bytes"][0])
            holder.communicate()


if __name__ == "__main__":
    if sys.argv[1:] == ["describe"]:
        describe()
    else:
        unittest.main()
