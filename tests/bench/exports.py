#!/usr/bin/env python3
"""Exports jobs here, loads them with TensorFlow, and compares.

A line of JSON a case:
- mnist: configs/mnist_tfrecord.yaml in both API versions, with parsing, raw and both receivers. The
  largest difference between what TensorFlow computes from the export, by the loader of version 1 and
  by tf.saved_model.load, and what `tpuest predict` gives, over all outputs and records; strings and
  classes must be equal. The saver writes and restores the variables.
- modes: tags train, eval and serve in one export. TensorFlow trains a step, evaluates, and agrees on
  the metrics.
- reference: configs/tpu_reference.yaml against the export of a real TPUEstimator
  (tf_tpu_export.py), in both API versions: tags, signatures, collections, and, initialisers and
  saver aside, ops of graph and functions. What only one of them has is listed.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECEIVERS = {
    "parsing": "build_parsing_serving_input_receiver_fn",
    "raw": "build_raw_serving_input_receiver_fn",
    "both": "both",
}

# Run by TensorFlow's Python. Arguments: export, records, predictions, "tagged" or "".
COMPARE = """
import json, sys, tempfile
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
folder, records, predictions, tagged = sys.argv[1:]
expected = [json.loads(line) for line in open(predictions)]
serialized = [r.numpy() for r in tf.data.TFRecordDataset(records)]
raw = [tf.train.Example.FromString(s).features.feature['image_raw'] for s in serialized]
bytes_ = np.stack([np.frombuffer(f.bytes_list.value[0], np.uint8) for f in raw])
image = bytes_.astype('f') * np.float32(1 / 255) + np.float32(-.5)
worst, equal, seen = 0., True, 0

def compare(outputs):
    global worst, equal, seen
    if 'scores' in outputs:
        outputs = {'probabilities': outputs['scores'], 'all_classes': outputs['classes']}
    for key, value in outputs.items():
        want = np.array([e[key] for e in expected])
        seen += 1
        if value.dtype.kind in 'SO':
            equal &= bool((value.astype(str) == want.astype(str)).all())
        elif value.dtype.kind in 'iu':
            equal &= bool((value == want).all())
        else:
            want = want.reshape(value.shape)
            difference = np.abs(value - want) / np.maximum(1, np.abs(want))
            worst = max(worst, float(difference.max()))

with tf.Graph().as_default(), tf1.Session() as session:
    meta = tf1.saved_model.load(session, ['serve'], folder)
    for signature in meta.signature_def.values():
        feed = {t.name: np.array(serialized, object) if t.dtype == tf.string.as_datatype_enum
                else image for t in signature.inputs.values()}
        compare(session.run({k: t.name for k, t in signature.outputs.items()}, feed))
    saver = tf1.train.import_meta_graph(meta)
    saver.restore(session, folder + '/variables/variables')
    with tempfile.TemporaryDirectory() as scratch:
        again = tf.train.list_variables(saver.save(session, scratch + '/model'))
    saved = again == tf.train.list_variables(folder + '/variables/variables')
model = tf.saved_model.load(folder, tags=['serve']) if tagged else tf.saved_model.load(folder)
for function in model.signatures.values():
    given = {k: tf.constant(serialized if s.dtype == tf.string else image)
             for k, s in function.structured_input_signature[1].items()}
    compare({k: v.numpy() for k, v in function(**given).items()})
print(json.dumps({'outputs': seen, 'largest_difference': worst, 'equal': equal, 'saver': saved,
                  'variables': len(model.variables)}))
"""

# Arguments: export, records.
MODES = """
import json, sys
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
folder, records = sys.argv[1:]
examples = [tf.train.Example.FromString(r.numpy()).features.feature
            for r in tf.data.TFRecordDataset(records)]
image = np.stack([np.frombuffer(e['image_raw'].bytes_list.value[0], np.uint8) for e in examples])
given = {'image': image.astype('f') * np.float32(1 / 255) + np.float32(-.5),
         'label': np.array([e['label'].int64_list.value[0] for e in examples], np.int32)}
found = {}
for tag in ('train', 'eval', 'serve'):
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        meta = tf1.saved_model.load(session, [tag], folder)
        found[tag] = sorted(meta.signature_def)
        if tag == 'serve':
            continue
        signature = meta.signature_def[tag]
        feed = {signature.inputs[k].name: v for k, v in given.items()}
        if tag == 'train':
            train_op = graph.get_collection('train_op')[0]
            loss = signature.outputs['loss'].name
            found['losses'] = [float(session.run([loss, train_op], feed)[0]) for _ in range(2)]
            continue
        updates = {k: t.name for k, t in signature.outputs.items() if k.endswith('/update_op')}
        session.run(updates, feed)
        found['metrics'] = {k.split('/')[1]: float(session.run(t.name))
                            for k, t in signature.outputs.items() if k.endswith('/value')}
        assert {k.split('/')[1] for k in updates} == set(found['metrics'])
print(json.dumps(found))
"""

# Arguments: two exports.
REFERENCE = """
import collections, json, sys
from tensorflow.core.framework import variable_pb2
from tensorflow.core.protobuf import saved_model_pb2

def load(folder):
    model = saved_model_pb2.SavedModel()
    model.ParseFromString(open(folder + '/saved_model.pb', 'rb').read())
    return [describe(m) for m in model.meta_graphs]

def describe(meta):
    aside = lambda name: '/Initializer/' in name or name.startswith('save/')
    infos = lambda side: {k: (t.dtype, str(t.tensor_shape)) for k, t in side.items()}
    collections_ = {}
    for key, c in meta.collection_def.items():
        names = [variable_pb2.VariableDef.FromString(b).variable_name for b in c.bytes_list.value]
        collections_[key] = names or list(c.node_list.value)
    return {
        'tags': list(meta.meta_info_def.tags),
        'signatures': {k: (s.method_name, infos(s.inputs), infos(s.outputs))
                       for k, s in meta.signature_def.items()},
        'collections': collections_,
        'ops': collections.Counter(n.op for n in meta.graph_def.node if not aside(n.name)),
        'functions': [collections.Counter(n.op for n in f.node_def)
                      for f in meta.graph_def.library.function]}

found = {}
for ours, reference in zip(load(sys.argv[1]), load(sys.argv[2]), strict=True):
    differs = found[','.join(ours['tags'])] = {}
    for key in ours:
        if ours[key] == reference[key]:
            continue
        differs[key] = [ours[key], reference[key]]
        if key == 'ops':
            differs[key] = [ours[key] - reference[key], reference[key] - ours[key]]
print(json.dumps({'differs': found}))
"""


class Exports:
    def __init__(self, arguments, work):
        self.work = work
        self.program = pathlib.Path(arguments.build).resolve() / "cli" / "tpuest"
        self.peers = pathlib.Path(arguments.peers)
        environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
        self.python = pathlib.Path(environments) / "tf" / "bin" / "python"
        self.records = arguments.records and pathlib.Path(arguments.records).resolve()

    def tpuest(self, *arguments):
        done = subprocess.run(
            [str(self.program), *map(str, arguments), "-q"],
            cwd=self.work,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
        )
        return done.stdout.strip()

    def tensorflow(self, code, *arguments):
        done = subprocess.run(
            [str(self.python), *code, *map(str, arguments)],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        return done.stdout.strip().splitlines()

    def compare(self, code, *arguments):
        return json.loads(self.tensorflow(["-c", code], *arguments)[-1])

    def mnist(self):
        if not self.records:
            self.tpuest("convert", "--digits", 200, "--output", "digits.tfrecord")
            self.records = self.work / "digits.tfrecord"
        sources = [f"input_fns.{name}.source.filenames=[{self.records}]" for name in ("train", "test")]
        job = [
            ROOT / "configs" / "mnist_tfrecord.yaml",
            *sources,
            "eval_batch_size=40",
            "train_spec.max_steps=60",
            "--model-dir",
            "mnist",
        ]
        self.tpuest("train", *job)
        self.tpuest("predict", *job, "--output", "predictions.jsonl")
        for version in (1, 2):
            for name, receiver in RECEIVERS.items():
                for tagged in (True, False):
                    self.mnist_case(job, version, name, receiver, tagged)
        return job

    def mnist_case(self, job, version, name, receiver, tagged):
        path = self.tpuest(
            "export",
            *job,
            "--api-version",
            version,
            "--verify",
            40,
            f"export.serving_input_receiver_fn={receiver}",
            f"export_to_tpu={str(tagged).lower()}",
        )
        found = self.compare(
            COMPARE, self.work / path, self.records, self.work / "predictions.jsonl", "tagged" if tagged else ""
        )
        say({"case": "mnist", "api_version": version, "receiver": name, "export_to_tpu": tagged, **found})

    def modes(self, job):
        path = self.tpuest("export", *job, "export.experimental_mode=[TRAIN, EVAL, PREDICT]")
        found = self.compare(MODES, self.work / path, self.records)
        ours = json.loads(self.tpuest("evaluate", *job, "--json"))["metrics"]
        differences = [abs(found["metrics"][k] - ours[k]) for k in found["metrics"]]
        say({"case": "modes", **found, "largest_difference": max(differences)})

    def reference(self):
        self.tensorflow([str(self.peers / "tf_tpu_export.py")], self.work / "peer")
        job = ROOT / "configs" / "tpu_reference.yaml"
        self.tpuest("train", job)
        for version in (1, 2):
            path = self.tpuest("export", job, "--api-version", version, "--verify", 16)
            peer = next((self.work / "peer" / f"v{version}").iterdir())
            say({"case": "reference", "api_version": version, **self.compare(REFERENCE, self.work / path, peer)})


def say(line):
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", help="TFRecords as `tpuest convert` writes them (default: drawn digits)")
    parser.add_argument(
        "--peers",
        default=os.environ.get("TPUEST_PEERS"),
        metavar="DIR",
        help="the peers' scripts (default: $TPUEST_PEERS)",
    )
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    arguments = parser.parse_args()
    if not arguments.peers:
        parser.error("--peers DIR is needed")
    with tempfile.TemporaryDirectory(prefix="tpuest-exports.") as folder:
        exports = Exports(arguments, pathlib.Path(folder))
        exports.modes(exports.mnist())
        exports.reference()


if __name__ == "__main__":
    main()
