"""Each rule of tools/layers is fed a tree that breaks it, and one that does not."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

_PATH = str(pathlib.Path(__file__).resolve().parent / "layers")
_LOADER = importlib.machinery.SourceFileLoader("layers", _PATH)
layers = importlib.util.module_from_spec(importlib.util.spec_from_loader("layers", _LOADER))
_LOADER.exec_module(layers)


def check(files):
    """The findings in a tree of {path: content}."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, content in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(content)
        return layers.check_tree(root, list(files))


def query(name, *deps):
    labels = "".join(f'<label value="{dep}"/>' for dep in deps)
    return f'<query><rule class="cc_library" name="{name}"><list name="deps">{labels}</list></rule></query>'


class LayersTest(unittest.TestCase):

    def assert_finds(self, rule, findings):
        self.assertEqual([finding.split(":")[0] for finding in findings], [rule], findings)

    def test_CleanTree_NoFindings(self):
        self.assertEqual(check({
            "autobatch/memory/BUILD.bazel": "cc_library(name = 'fit')\n",
            "autobatch/memory/README.md": "What belongs here.\n",
            "autobatch/memory/fit.h": '#include <vector>\n#include "autobatch/types/report.h"\n',
            "autobatch/memory/fit_test.cc": '#include "autobatch/memory/fit.h"\n',
            "autobatch/worker/step.cc": "#include <torch/torch.h>\n",
            "third_party/x/x.BUILD": "linkopts = select({})\n",
        }), [])

    def test_Include_PointsUp_Found(self):
        self.assert_finds("floors", check({"autobatch/types/a.h": '#include "autobatch/search/b.h"\n'}))

    def test_Include_Neighbour_Found(self):
        self.assert_finds("floors", check({"autobatch/trial/a.h": '#include "autobatch/report/b.h"\n'}))

    def test_Include_OrchestratorFromAutobatch_Found(self):
        self.assert_finds("floors", check({"autobatch/probe/a.h": '#include "orchestrator/plan/b.h"\n'}))

    def test_Include_WorkerFromParent_Found(self):
        self.assert_finds("floors", check({"autobatch/trial/a.h": '#include "autobatch/worker/b.h"\n'}))

    def test_Include_RoomNobodyKnows_Found(self):
        self.assert_finds("floors", check({"autobatch/probe/a.h": '#include "autobatch/attic/b.h"\n'}))

    def test_Include_ThirdPartyOutsideItsRoom_Found(self):
        for header in ["torch/torch.h", "ATen/ATen.h", "c10/core/Allocator.h", "cuda_runtime_api.h",
                       "nvml.h", "nccl.h", "glog/logging.h", "openssl/ssl.h", "sys/socket.h"]:
            with self.subTest(header):
                self.assert_finds("headers", check({"autobatch/probe/a.cc": f"#include <{header}>\n"}))

    def test_Include_Excused_NoFinding(self):
        self.assertEqual(check({
            "autobatch/trial/a.cc": "#include <sys/socket.h>  // house(headers): socketpair only\n"}), [])

    def test_Query_DependencyPointsUp_Found(self):
        self.assert_finds("floors", layers.check_query(
            query("//autobatch/types:a", "//autobatch/base:log", "//autobatch/probe:b")))

    def test_Query_LibraryOutsideItsRoom_Found(self):
        self.assert_finds("headers", layers.check_query(query("//tools:probe", "@libtorch//:torch")))

    def test_Query_Downwards_NoFinding(self):
        self.assertEqual(layers.check_query(
            query("//autobatch/worker:step", "//autobatch/types:a", "@libtorch//:torch")), [])

    def test_Select_InBuildFile_Found(self):
        self.assert_finds("select", check({
            "autobatch/base/BUILD.bazel": "cc_library(deps = select({}))\n",
            "autobatch/base/README.md": "Ground floor.\n"}))

    def test_Size_OverTheLimit_Found(self):
        for path, lines in [("autobatch/base/a.h", 201), ("autobatch/base/a.cc", 401),
                            ("tests/sim/a_test.cc", 601)]:
            with self.subTest(path):
                self.assert_finds("size", check({path: "\n" * lines}))

    def test_Size_AtTheLimitOrExcused_NoFinding(self):
        self.assertEqual(check({"autobatch/base/a.h": "\n" * 200}), [])
        self.assertEqual(check({"autobatch/base/a.h": "// house(size): a table\n" + "\n" * 300}), [])

    def test_Readme_MissingOrLong_Found(self):
        self.assert_finds("readme", check({"autobatch/base/BUILD.bazel": ""}))
        self.assert_finds("readme", check({
            "autobatch/base/BUILD.bazel": "", "autobatch/base/README.md": "x\n" * 31}))

    def test_Test_WithoutHeader_Found(self):
        self.assert_finds("test", check({"autobatch/base/lonely_test.cc": ""}))

    def test_Test_OfOneAspect_NoFinding(self):
        self.assertEqual(check({"autobatch/base/clock.h": "", "autobatch/base/clock_limits_test.cc": ""}), [])

    def test_Test_OfTheWholeFolder_NoFinding(self):
        self.assertEqual(check({"autobatch/worker/models/models_test.cc": ""}), [])

    def test_Sleep_InATest_Found(self):
        for call in ["std::this_thread::sleep_for", "absl::SleepFor", "usleep", "sleep"]:
            line = call + "(1);"
            with self.subTest(line):
                self.assert_finds("sleep", check({"tests/e2e/a_test.cc": line + "\n"}))


if __name__ == "__main__":
    unittest.main()
