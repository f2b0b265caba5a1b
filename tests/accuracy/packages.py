"""Where torch and its companions for Python are; a program that is run by hand installs what it lacks."""

import os
import subprocess

PYTHON = "python=third_party/python/requirements.lock"


def installed(*locks):
    """The PYTHONPATH of torch and of the wheels of the locks (`NAME=PATH in the workspace`), the first found first.

    ChildProcessError: they cannot be had; the words of tools/setup are on stderr.
    """
    # Set by `bazel run`, where tools/setup stands.
    workspace = os.environ["BUILD_WORKSPACE_DIRECTORY"]
    done = subprocess.run([os.path.join(workspace, "tools/setup/python_path.sh"), *locks], stdout=subprocess.PIPE,
                          text=True, check=False)
    if done.returncode != 0:
        raise ChildProcessError("the Python packages are not there")
    return done.stdout.strip()
