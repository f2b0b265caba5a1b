"""The tarball: unpacked anywhere, it runs with nothing of the machine that built it."""

import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

TARBALL = "tools/autobatch-linux-x86_64.tar.gz"
LIBTORCH = (pathlib.Path("external/libtorch/version").resolve().parent / "lib").resolve().parent
PROGRAMS = ["agent", "coordinator", "launch", "plan", "probe", "simcuda"]
TINY = ["--device", "cpu", "--workload", "resnet18", "--image-size", "64", "--memory-limit",
        "600MiB", "--max-batch", "2", "--no-cache", "--quiet", "--format", "json"]


class DistTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="un packed ")
        with tarfile.open(TARBALL) as tar:
            tar.extractall(cls.folder.name)
        cls.root = pathlib.Path(cls.folder.name) / "autobatch"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_program(self, name, *arguments, **environment):
        variables = {"PATH": "/usr/bin:/bin", "HOME": self.folder.name, **environment}
        return subprocess.run([self.root / "bin" / name, *arguments], env=variables,
                              capture_output=True, text=True, timeout=600, check=False,
                              cwd=self.folder.name)

    def test_every_program_starts(self):
        for name in PROGRAMS:
            run = self.run_program(name, "--help")
            self.assertEqual(run.returncode, 0, f"{name}: {run.stderr}")
            self.assertIn(name, run.stdout)

    def test_shared_libraries_are_the_nodes_own_or_packed(self):
        for path in [p for p in self.root.rglob("*") if p.is_file() and os.access(p, os.X_OK)]:
            if path.read_bytes()[:4] != b"\x7fELF" or path.name == "worker.bin":
                continue
            for line in subprocess.check_output(["ldd", path], text=True).splitlines():
                if "=> " not in line:
                    continue
                library, place = line.strip().split(" => ")
                own = library.startswith(("libc.", "libm.", "libgcc_s.", "libdl.", "libpthread."))
                by_process = path.name.startswith("lib") and library.startswith("libstdc++.")
                self.assertTrue(own or by_process or str(self.root) in place, f"{path}: {line}")

    def test_no_program_names_a_folder_of_the_building_machine(self):
        for path in [p for p in self.root.rglob("*") if p.is_file() and os.access(p, os.X_OK)]:
            if path.read_bytes()[:4] == b"\x7fELF":
                paths = subprocess.check_output(["readelf", "-d", path], text=True)
                for line in paths.splitlines():
                    if "RUNPATH" in line or "RPATH" in line:
                        self.assertNotRegex(line, r"[\[:]/", str(path))

    def test_probe_finds_libtorch_where_it_is_told(self):
        run = self.run_program("probe", *TINY, LIBTORCH_DIR=str(LIBTORCH))
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["confirmed_batch"], 2)

    def test_preloads_work_from_a_folder_with_a_space_in_its_name(self):
        options = ["--device", "sim:t4", "--max-batch", "2", "--no-cache", "--quiet", "--format", "json"]
        run = self.run_program("probe", *options, LIBTORCH_DIR=str(LIBTORCH))
        self.assertEqual(run.returncode, 0, run.stderr)
        program = ("import ctypes, sys; cuda, address = ctypes.CDLL(None), ctypes.c_void_p(); "
                   "assert cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(1 << 30)) == 0")
        run = self.run_program("probe", *options, "--", "/usr/bin/python3", "-c", program, "{batch}",
                               LIBTORCH_DIR=str(LIBTORCH))
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["observations"][-1]["method"], "observer")
        self.assertGreaterEqual(device["peak_bytes"], 1 << 30)

    def test_without_libtorch_it_says_what_to_do(self):
        run = self.run_program("probe", *TINY, AUTOBATCH_PYTHON="/nonexistent/python")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("LIBTORCH_DIR", run.stderr + run.stdout)

    def test_libtorch_that_cannot_be_read_is_named(self):
        run = self.run_program("probe", *TINY, LIBTORCH_DIR="/nonexistent/torch")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("/nonexistent/torch/lib/libtorch_cpu.so is not there, or not for you to read",
                      run.stderr + run.stdout)

    def test_another_libtorch_is_refused_by_its_version(self):
        other = pathlib.Path(self.folder.name) / "other"
        (other / "lib").mkdir(parents=True)
        (other / "lib" / "libtorch_cpu.so").touch()
        (other / "build-version").write_text("1.13.1+cu117\n", encoding="utf-8")
        run = self.run_program("probe", *TINY, LIBTORCH_DIR=str(other))
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("1.13.1+cu117", run.stderr + run.stdout)

    def test_own_script_needs_no_libtorch(self):
        script = pathlib.Path(self.folder.name) / "train.py"
        script.write_text(
            "import sys\n"
            "import autobatch\n"
            "with autobatch.trial() as trial:\n"
            "    for _ in range(8):\n"
            "        held = bytearray(int(sys.argv[1]) * (1 << 20))\n"
            "        autobatch.step()\n", encoding="utf-8")
        run = self.run_program("probe", "--device", "cpu", "--memory-limit", "400MiB",
                               "--max-batch", "4", "--no-cache", "--quiet", "--format", "json", "--",
                               "/usr/bin/python3", str(script), "{batch}",
                               AUTOBATCH_PYTHON="/nonexistent/python",
                               PYTHONPATH=str(self.root / "python"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["devices"][0]["confirmed_batch"], 4)


if __name__ == "__main__":
    unittest.main()
