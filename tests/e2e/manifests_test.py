"""The example manifests are what Kubernetes takes, and their init containers do what they say."""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from tests.e2e import launched

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")
sys.path += [folder for folder in FRAMEWORKS.split(os.pathsep) if folder]

EXAMPLES = pathlib.Path("tools/examples")

# The part of Kubernetes' and Kubeflow's schemas that the examples use: fields and their types, "!" where a
# field is required. Any other field is an error, as `kubectl apply --validate=strict` has it.
NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?$")
VARIABLE = {"name!": str, "value": str, "valueFrom": {"fieldRef!": {"fieldPath!": str}}}
MOUNT = {"name!": NAME, "mountPath!": re.compile("/"), "readOnly": bool}
CONTAINER = {"name!": NAME, "image!": str, "command": [str], "args": [str], "env": [VARIABLE],
             "resources": {"limits": {"nvidia.com/gpu": int}}, "volumeMounts": [MOUNT]}
VOLUME = {"name!": NAME, "emptyDir": {}, "secret": {"secretName!": NAME, "defaultMode": int}}
POD = {"containers!": [CONTAINER], "initContainers": [CONTAINER], "volumes": [VOLUME], "subdomain": NAME,
       "restartPolicy": re.compile("(Never|OnFailure|Always)$")}
TEMPLATE = {"metadata": {"labels": {"job-name": str}}, "spec!": POD}
METADATA = {"name!": NAME}
REPLICAS = {"replicas!": int, "restartPolicy": re.compile("(Never|OnFailure|Always|ExitCode)$"),
            "template!": TEMPLATE}
KINDS = {
    ("v1", "Service"): {"clusterIP": str, "publishNotReadyAddresses": bool, "selector!": {
        "job-name": str, "training.kubeflow.org/job-name": str, "training.kubeflow.org/replica-type": str}},
    ("batch/v1", "Job"): {"completions": int, "parallelism": int, "completionMode": re.compile("Indexed$"),
                          "backoffLimit": int, "template!": TEMPLATE},
    ("kubeflow.org/v1", "PyTorchJob"): {"nprocPerNode": str,
                                        "pytorchReplicaSpecs!": {"Master!": REPLICAS, "Worker": REPLICAS}},
}


def errors(value, schema, path):
    """Where the value is not what the schema says."""
    if isinstance(schema, re.Pattern):
        return [] if isinstance(value, str) and schema.match(value) else ["%s: %r" % (path, value)]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return ["%s: no list" % path]
        return [error for at, item in enumerate(value) for error in errors(item, schema[0], "%s[%d]" % (path, at))]
    if not isinstance(schema, dict):
        return [] if type(value) is schema else ["%s: %r is no %s" % (path, value, schema.__name__)]
    if not isinstance(value, dict):
        return ["%s: no object" % path]
    fields = {name.rstrip("!"): inner for name, inner in schema.items()}
    found = ["%s.%s is missing" % (path, name[:-1]) for name in schema if name.endswith("!") and name[:-1] not in value]
    for name, inner in value.items():
        found += errors(inner, fields[name], path + "." + name) if name in fields else ["%s.%s is unknown" % (path, name)]
    return found


def pods(document):
    """The pod specifications in a document."""
    spec = document["spec"]
    replicas = spec.get("pytorchReplicaSpecs", {"": spec}).values()
    return [each["template"]["spec"] for each in replicas if "template" in each]


@unittest.skipUnless(FRAMEWORKS, "tools/ci_setup has not installed the Python dependencies (yaml)")
class ManifestsTest(unittest.TestCase):
    def documents(self, name):
        import yaml

        return list(yaml.safe_load_all((EXAMPLES / name).read_text()))

    def all_documents(self):
        return self.documents("kubernetes_job.yaml") + self.documents("kubeflow_pytorchjob.yaml")

    def test_manifests_are_valid(self):
        for document in self.all_documents():
            kind = (document["apiVersion"], document["kind"])
            schema = {"apiVersion!": str, "kind!": str, "metadata!": METADATA, "spec!": KINDS[kind]}
            self.assertEqual(errors(document, schema, document["kind"]), [])

    def test_the_validation_sees_mistakes(self):
        job = self.documents("kubernetes_job.yaml")[1]
        container = pods(job)[0]["containers"][0]
        container["volumeMount"] = container.pop("volumeMounts")
        del container["image"]
        job["spec"]["completions"] = "4"
        found = errors(job["spec"], KINDS[("batch/v1", "Job")], "")
        self.assertEqual(len(found), 3, found)

    def test_every_mount_has_its_volume_and_every_secret_its_mode(self):
        for pod in filter(None, (pod for document in self.all_documents() for pod in pods(document))):
            volumes = {volume["name"]: volume for volume in pod["volumes"]}
            for container in pod["containers"] + pod["initContainers"]:
                for mount in container["volumeMounts"]:
                    self.assertIn(mount["name"], volumes)
            self.assertEqual(volumes["secret"]["secret"]["defaultMode"], 0o400)
            # What the init container writes, the training container reads.
            [publish] = [word for word in pod["initContainers"][0]["command"] if word == "/autobatch"]
            self.assertIn(publish, [mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]])

    def test_the_coordinators_name_is_known_before_any_pod_is_ready(self):
        for name in ("kubernetes_job.yaml", "kubeflow_pytorchjob.yaml"):
            service, job = self.documents(name)
            self.assertEqual(service["spec"]["clusterIP"], "None")
            self.assertIs(service["spec"]["publishNotReadyAddresses"], True)
            self.assertIn(job["metadata"]["name"], service["spec"]["selector"].values())
            for pod in pods(job):
                [address] = [each["value"] for each in pod["initContainers"][0]["env"]
                             if each["name"] == "PET_MASTER_ADDR"]
                # A pod's name in front of it, where the service is for all of them.
                self.assertEqual(address.split(".")[-1], service["metadata"]["name"])

    def run_pod(self, name, pod, run_id):
        """Runs a pod's containers one after the other, where it is the only node."""
        folder = launched.short_folder(self)
        (folder / "secret").write_text("0123456789abcdef0123456789abcdef")
        (folder / "secret").chmod(0o600)
        fields = {"PET_NODE_RANK": "0", "AUTOBATCH_RUN_ID": run_id}
        [init], [main] = pod["initContainers"], pod["containers"]
        variables = {each["name"]: each.get("value", fields.get(each["name"])) for each in init["env"]}
        variables.update(PET_NNODES="1", PET_NPROC_PER_NODE="1", HOSTNAME=name)
        paths = {"/autobatch": str(folder / "shared"), "/run/autobatch/secret": str(folder / "secret"),
                 "launch": launched.LAUNCH, "resnet50": "resnet18"}
        command = [paths.get(word, word) for word in init["command"] + init["args"]]
        simulated = ["--device", "sim:rtx3090", "--allow-simulated", "--image-size", "64", "--max-batch", "8",
                     "--no-cache"]
        environment = launched.environment(XDG_RUNTIME_DIR=folder, HOME=folder, **variables)
        run = subprocess.run(command + simulated, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        # The training container, whose torchrun says what it was started with.
        (folder / "torchrun").write_text("#!/bin/sh\necho \"$@\"\nenv | grep AUTOBATCH_\n")
        (folder / "torchrun").chmod(0o755)
        script = [word.replace("/autobatch/", str(folder / "shared") + "/") for word in main["args"]]
        run = subprocess.run(main["command"] + script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={"PATH": "%s:/usr/bin:/bin" % folder}, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout, json.loads((folder / "shared" / "launch.json").read_text())

    def test_init_container_agrees_and_the_training_container_trains_on_it(self):
        job = self.documents("kubernetes_job.yaml")[1]
        pytorch_job = self.documents("kubeflow_pytorchjob.yaml")[1]
        for name, pod in (("train-0", pods(job)[0]), ("train-master-0", pods(pytorch_job)[0])):
            output, values = self.run_pod(name, pod, "job-of-" + name)
            self.assertIn("train.py --batch-size 8\n", output)
            self.assertIn("AUTOBATCH_STEPS_PER_EPOCH=160146\n", output)
            self.assertEqual(values["run_id"], "job-of-" + name)


if __name__ == "__main__":
    unittest.main()
