"""The package itself: what it needs, what it imports, how it installs."""

import ast
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import parent
import pytest

SOURCES = sorted(pathlib.Path(parent.PACKAGE, "autobatch").glob("*.py"))


def test_Sources_AreOfPython38():
    assert SOURCES
    for source in SOURCES:
        ast.parse(source.read_text(), feature_version=(3, 8))


def test_Sources_ImportTheStandardLibraryOnly():
    for source in SOURCES:
        for node in ast.walk(ast.parse(source.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for name in names:
                assert name.split(".")[0] in sys.stdlib_module_names, "%s imports %s" % (source.name, name)


def test_Readme_Example_Runs():
    text = pathlib.Path(parent.PACKAGE, "README.md").read_text()
    example = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    ") and "$" not in line)
    before = "def train_on(samples): return 0.5\nclass data:\n  batches = staticmethod(lambda n: [[0] * n] * 9)\n"
    ran = parent.run_trial(before + example, batch=5)
    assert ran.kinds == ["hello", "step", "step", "step", "result"], ran.stderr
    assert ran.result["batch_seen"] == 5


def test_Pip_InstallsItIntoAnEnvironmentOfOnesOwn(tmp_path):
    copy = shutil.copytree(
        parent.PACKAGE, tmp_path / "package", ignore=shutil.ignore_patterns("tests", "__pycache__", "*.egg-info")
    )
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", str(tmp_path / "v")], check=True)
    python = str(tmp_path / "v" / "bin" / "python")
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps", str(copy)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run(pip, check=True, env=environment, cwd=str(tmp_path))
    script = "import autobatch, autobatch.lightning; print(autobatch.__file__, autobatch.batch(3))"
    ran = subprocess.run(
        [python, "-c", script], check=True, env=environment, cwd=str(tmp_path), capture_output=True, text=True
    )
    where, batch = ran.stdout.split()
    assert where.startswith(str(tmp_path / "v")) and batch == "3"
    assert pathlib.Path(where).with_name("py.typed").exists()


def test_Types_AreStrict():
    path = [folder for folder in os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "").split(os.pathsep) if folder]
    if not importlib.util.find_spec("mypy") and not any(os.path.isdir(folder + "/mypy") for folder in path):
        pytest.skip("mypy is not here: run tools/ci_setup")
    ran = subprocess.run(
        # Torch's own types are not looked at: it is never imported.
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir=" + os.devnull, "-p", "autobatch"],
        cwd=parent.PACKAGE,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(path)),
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
