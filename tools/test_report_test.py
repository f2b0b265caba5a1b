"""tools/test_report on build event streams made by hand."""

import importlib.machinery
import importlib.util
import json
import pathlib
import tempfile
import unittest

_PATH = str(pathlib.Path(__file__).resolve().parent / "test_report")
_LOADER = importlib.machinery.SourceFileLoader("test_report", _PATH)
test_report = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_report", _LOADER))
_LOADER.exec_module(test_report)

GTEST_XML = """<testsuites><testsuite name="Cuda"><testcase name="Device_NoGpu_Skipped" classname="Cuda">
<skipped message="cuda_test.cc:7&#x0A;no GPU here"/></testcase>
<testcase name="Other" classname="Cuda"/></testsuite></testsuites>"""


def configured(label):
    return {"id": {"targetConfigured": {"label": label}}, "configured": {"testSize": "SMALL"}}


def summary(label, status="PASSED"):
    return {"id": {"testSummary": {"label": label}}, "testSummary": {"overallStatus": status}}


class TestReportTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.said = []

    def result(self, label, name, content):
        file = self.folder / name
        file.write_text(content)
        return {"id": {"testResult": {"label": label}},
                "testResult": {"testActionOutput": [{"name": name, "uri": file.as_uri()}]}}

    def report(self, *events, allowed=""):
        verdicts, skipped = test_report.read_events(json.dumps(event) for event in events)
        return test_report.report(verdicts, skipped, test_report.read_allowed(allowed), self.said.append)

    def test_AllPass_Counted(self):
        self.assertEqual(self.report(configured("//a"), configured("//b"), summary("//a"), summary("//b")),
                         (2, 0))

    def test_Failure_CountedAndNamed(self):
        self.assertEqual(self.report(configured("//a"), summary("//a", "FAILED")), (0, 1))
        self.assertEqual(self.said, ["FAILED: //a"])

    def test_FlakyAndTimeout_AreFailures(self):
        self.assertEqual(self.report(summary("//a", "FLAKY"), summary("//b", "TIMEOUT")), (0, 2))

    def test_TargetThatDidNotBuild_HasNoSummary_IsFailure(self):
        self.assertEqual(self.report(configured("//a")), (0, 1))

    def test_Library_NotCounted(self):
        self.assertEqual(self.report({"id": {"targetConfigured": {"label": "//l"}}, "configured": {}}), (0, 0))

    def test_Skip_NotListed_IsFailureWithReason(self):
        self.assertEqual(self.report(self.result("//a", "test.xml", GTEST_XML), summary("//a")), (0, 1))
        self.assertIn("no GPU here", self.said[0])

    def test_Skip_Listed_PassesAndIsSaid(self):
        allowed = "# why\n//a Cuda.Device_NoGpu_Skipped needs a GPU\n"
        self.assertEqual(self.report(self.result("//a", "test.xml", GTEST_XML), summary("//a"),
                                     allowed=allowed), (1, 0))
        self.assertEqual(self.said, ["skipped: //a Cuda.Device_NoGpu_Skipped: no GPU here"])

    def test_Skip_OfAnotherTarget_NotExcused(self):
        self.assertEqual(self.report(self.result("//a", "test.xml", GTEST_XML), summary("//a"),
                                     allowed="//b * all of it\n"), (0, 1))

    def test_Skip_InALog_Found(self):
        log = "SKIPPED: no browser\ntest_x (m.T) ... skipped 'no torch'\n"
        self.assertEqual(self.report(self.result("//a", "test.log", log), summary("//a")), (0, 1))
        self.assertIn("no browser", self.said[0])
        self.assertIn("no torch", self.said[1])

    def test_Skip_ThatALogOnlyCounts_Found(self):
        for log in ("OK (skipped=3)\n", "Ran 5 tests in 1.0s\n\nOK (skipped=3)\n"):
            self.said.clear()
            self.assertEqual(self.report(self.result("//a", "test.log", log), summary("//a")), (0, 1))
            self.assertIn("skipped=3", self.said[0])
        # Named above, it is not said twice.
        log = "test_x (m.T) ... skipped 'no torch'\n\nOK (skipped=1)\n"
        self.said.clear()
        self.assertEqual(self.report(self.result("//a", "test.log", log), summary("//a"),
                                     allowed="//a test_x it has none\n"), (1, 0))
        self.assertEqual(self.said, ["skipped: //a test_x: no torch"])


if __name__ == "__main__":
    unittest.main()
