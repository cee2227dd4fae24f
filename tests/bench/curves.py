#!/usr/bin/env python3
"""Trains and evaluates MNIST with interruptions, and reads what is left with TensorBoard and TensorFlow.

One run in a piece, and one that is ended by SIGTERM, ended by SIGKILL, stopped early by its accuracy,
and then trained to max_steps. TensorBoard's readers look at the second one while it comes to be. A
line a claim, with what was found; the exit code is 1 if one of them does not hold:
- the curves of training, as TensorBoard purges them, are those of the run in a piece, point by point,
  and those of evaluation have every evaluation; only SIGKILL leaves anything to purge;
- histograms of variables and gradients; the HParams plugin shows the job's values and an ended
  session; each session begins with SessionLog START;
- each exporter's newest export gives in TensorFlow, by both loaders, what `tpuest predict` gives.
"""

import argparse
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAVED_EVERY = 50
STEPS = 400
EXPORTERS = ("best", "latest", "final")
EXAMPLES = 40
TOLERANCE = 1e-5
# Depend on the time.
RATES = ("global_step/sec", "examples/sec")

# Run by TensorFlow's Python. Arguments: the run in a piece, the cut run. Each line of stdin has it
# read on, as TensorBoard does of a run that goes on.
READ = """
import json, logging, pathlib, sys
from tensorboard.backend.event_processing import data_provider, event_accumulator
from tensorboard.backend.event_processing import event_file_loader, plugin_event_multiplexer
from tensorboard.compat.proto import event_pb2
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, list_session_groups
whole, cut = sys.argv[1:]

class Log(logging.Handler):
    lines = []
    def emit(self, record):
        Log.lines.append(record.getMessage())
logging.getLogger('tensorboard').addHandler(Log())

def watch(folder, **arguments):
    sizes = {event_accumulator.SCALARS: 0, event_accumulator.HISTOGRAMS: 0}
    return event_accumulator.EventAccumulator(folder, size_guidance=sizes, **arguments)

watched = {name: watch(cut + folder, purge_orphaned_data=True)
           for name, folder in (('train', ''), ('eval', '/eval'))}
for _ in sys.stdin:
    for accumulator in watched.values():
        if pathlib.Path(accumulator.path).is_dir():
            accumulator.Reload()
purges = [line for line in Log.lines if 'urged' in line or 'urging' in line]

def curves(accumulator):
    return {tag: [(e.step, e.value) for e in accumulator.Scalars(tag)]
            for tag in accumulator.Tags()['scalars']}

def read(folder):
    accumulator = watch(folder, purge_orphaned_data=True)
    accumulator.Reload()
    return curves(accumulator)

def sessions(folder):
    found = []
    for path in sorted(pathlib.Path(folder).glob('events.out.tfevents.*')):
        for event in event_file_loader.EventFileLoader(str(path)).Load():
            if event.session_log.status == event_pb2.SessionLog.START:
                found.append(event.step)
    return found

def hparams(folder):
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(folder)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, folder)
    backend = backend_context.Context(base_plugin.TBContext(data_provider=provider))
    context = RequestContext()
    content = backend.hparams_metadata(context, '')
    experiment = backend.experiment_from_metadata(context, '', True, content, [])
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0, slice_size=10, allowed_statuses=list(api_pb2.Status.values()))
    groups = list_session_groups.Handler(context, backend, '', request).run().session_groups
    return {'known': sorted(i.name for i in experiment.hparam_infos),
            'metrics': sorted(i.name.group + '/' + i.name.tag for i in experiment.metric_infos),
            'groups': [{'hparams': {k: v.number_value or v.string_value or v.bool_value
                                    for k, v in group.hparams.items()},
                        'status': api_pb2.Status.Name(s.status)}
                       for group in groups for s in group.sessions if s.name == 'cut']}

train = watched['train']
print(json.dumps({
    'curves': {name: curves(accumulator) for name, accumulator in watched.items()},
    'again': {'train': read(cut), 'eval': read(cut + '/eval')},
    'whole': read(whole),
    'histograms': {tag: [e.step for e in train.Histograms(tag)] for tag in train.Tags()['histograms']},
    'purges': purges, 'sessions': sessions(cut), 'hparams': hparams(str(pathlib.Path(cut).parent))}))
"""

# Arguments: export, records, predictions.
COMPARE = """
import json, sys
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
folder, records, predictions = sys.argv[1:]
expected = [json.loads(line) for line in open(predictions)]
serialized = [r.numpy() for r in tf.data.TFRecordDataset(records).take(len(expected))]
worst, equal, seen = 0., True, 0

def compare(outputs):
    global worst, equal, seen
    for key in set(outputs) & set(expected[0]):
        value, want = outputs[key], np.array([e[key] for e in expected])
        seen += 1
        if value.dtype.kind == 'f':
            worst = max(worst, float(np.abs(value - want.reshape(value.shape)).max()))
        else:
            equal &= bool((value.astype(str) == want.reshape(value.shape).astype(str)).all())

model = tf.saved_model.load(folder, tags=['serve'])
function = model.signatures['predict' if 'predict' in model.signatures else 'serving_default']
name = next(iter(function.structured_input_signature[1]))
compare({k: v.numpy() for k, v in function(**{name: tf.constant(serialized)}).items()})
with tf.Graph().as_default(), tf1.Session() as session:
    meta = tf1.saved_model.load(session, ['serve'], folder)
    signature = meta.signature_def['predict' if 'predict' in meta.signature_def else 'serving_default']
    given = next(iter(signature.inputs.values())).name
    compare(session.run({k: t.name for k, t in signature.outputs.items()}, {given: serialized}))
step = int(tf.train.load_variable(folder + '/variables/variables', 'global_step'))
print(json.dumps({'outputs': seen, 'largest_difference': worst, 'equal': equal, 'step': step}))
"""


class Report:
    def __init__(self):
        self.failed = 0

    def say(self, claim, holds, found):
        self.failed += not holds
        print(f"{'ok  ' if holds else 'FAIL'}  {claim:<58} {found}", flush=True)


class Runs:
    def __init__(self, arguments, work):
        self.work = work
        self.program = pathlib.Path(arguments.build).resolve() / "cli" / "tpuest"
        environments = os.environ.get("PEERS", pathlib.Path.home() / ".cache" / "tpuest-peers")
        self.python = pathlib.Path(environments) / "tf" / "bin" / "python"
        self.convert(pathlib.Path(arguments.data).resolve())

    def convert(self, data):
        for name, part in (("train", ["--take", 9000]), ("test", ["--skip", 9000])):
            self.tpuest(
                "convert",
                "--images",
                data / "t10k-images-idx3-ubyte.gz",
                "--labels",
                data / "t10k-labels-idx1-ubyte.gz",
                *part,
                "--output",
                f"{name}.tfrecords",
            )

    def job(self, folder, stops=False):
        exporters = (
            "[{type: BestExporter, name: best, compare: {metric: accuracy, mode: max}}, "
            "{type: LatestExporter, name: latest, exports_to_keep: 2}, "
            "{type: FinalExporter, name: final}]"
        )
        stop = (
            "{type: stop_if_higher_hook, metric_name: accuracy, threshold: 0.96, "
            "run_every_secs: null, run_every_steps: 10}"
        )
        sources = [f"input_fns.{name}.source.filenames=[{self.work / name}.tfrecords]" for name in ("train", "test")]
        return [
            ROOT / "configs" / "mnist_tfrecord.yaml",
            *sources,
            "--model-dir",
            folder,
            f"train_spec={{input_fn: train, max_steps: {STEPS}, hooks: [{stop if stops else ''}]}}",
            f"eval_spec={{input_fn: test, exporters: {exporters}}}",
            "run_config.keep_best={metric: accuracy, mode: max}",
            f"run_config.save_checkpoints_steps={SAVED_EVERY}",
            "run_config.save_summary_steps=10",
            "run_config.keep_checkpoint_max=2",
            "run_config.log_step_count_steps=1",
            "run_config.tpu_config.iterations_per_loop=10",
            "summaries=[variables, gradients, loss]",
        ]

    def tpuest(self, *arguments, codes=(0,)):
        done = subprocess.run(
            [str(self.program), *map(str, arguments), "-q"], cwd=self.work, text=True, stdout=subprocess.PIPE
        )
        if done.returncode not in codes:
            sys.exit(f"tpuest {arguments[0]} ended with exit code {done.returncode}")
        return done.stdout.strip()

    def train(self, *job):
        return json.loads(self.tpuest("train-and-evaluate", *job, "--json"))

    def cut_by(self, number, step, *job):
        """Sends a signal once metrics.jsonl has a line of this step; returns the last line's step."""
        process = subprocess.Popen(
            [str(self.program), "train-and-evaluate", *map(str, job), "-q"], cwd=self.work, stdout=subprocess.DEVNULL
        )
        while process.poll() is None and self.last_step() < step:
            time.sleep(0.01)
        process.send_signal(number)
        process.wait()
        return self.last_step(), process.returncode

    def metrics(self):
        path = self.work / "cut" / ".tpuest" / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def last_step(self):
        return max((line["step"] for line in self.metrics()), default=0)

    def evaluations(self):
        """By metric, steps and values, as metrics.jsonl has them."""
        curves = {}
        for line in self.metrics():
            for metric, value in line.get("metrics", {}).items():
                single = struct.unpack("f", struct.pack("f", value))[0]
                curves.setdefault(metric, []).append([line["step"], single])
        return curves

    def tensorflow(self, code, *arguments):
        return subprocess.Popen(
            [str(self.python), "-c", code, *map(str, arguments)],
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )

    def make(self, report):
        """Both runs. Returns what TensorBoard read."""
        self.train(*self.job("whole", stops=True))
        self.train(*self.job("whole"))
        reader = self.tensorflow(READ, self.work / "whole", self.work / "cut")

        def read_on():
            reader.stdin.write("\n")
            reader.stdin.flush()

        for name, number, step, code in (
            ("SIGTERM", signal.SIGTERM, 25, 75),
            ("SIGKILL", signal.SIGKILL, 65, -signal.SIGKILL),
        ):
            last, ended = self.cut_by(number, step, *self.job("cut", stops=True))
            read_on()
            report.say(f"the run is ended by {name}", ended == code, f"step {last}, code {ended}")
        stopped = self.train(*self.job("cut", stops=True))
        read_on()
        report.say(
            "an early-stopping hook ends it",
            stopped["stopped_because"] == "early_stopping",
            f"step {stopped['global_step']}, {stopped['stopped_because']}",
        )
        done = self.train(*self.job("cut"))
        read_on()
        report.say("it goes on to max_steps", done["global_step"] == STEPS, f"step {STEPS}")
        output, _ = reader.communicate()
        if reader.returncode != 0:
            sys.exit(f"TensorBoard's reader ended with exit code {reader.returncode}")
        return json.loads(output.splitlines()[-1])

    def compare_export(self, name, report):
        newest = max((self.work / "cut" / "export" / name).iterdir(), default=None)
        checkpoint = "best" if name == "best" else str(STEPS)
        self.tpuest(
            "predict",
            *self.job("cut"),
            "--checkpoint",
            checkpoint,
            "--limit",
            EXAMPLES,
            "--output",
            "predictions.jsonl",
            "--force",
        )
        output, _ = self.tensorflow(
            COMPARE, newest, self.work / "test.tfrecords", self.work / "predictions.jsonl"
        ).communicate()
        if not output.strip():
            return report.say(f"TensorFlow loads export/{name}", False, "it does not")
        found = json.loads(output.splitlines()[-1])
        holds = found["outputs"] > 0 and found["equal"] and found["largest_difference"] < TOLERANCE
        report.say(
            f"TensorFlow computes from export/{name} what predict does",
            holds,
            f"step {found['step']}, {found['outputs']} outputs of {EXAMPLES} records, "
            f"largest difference {found['largest_difference']:.1e}",
        )


def once(points):
    """What is made again after a kill may stand there twice, at the same step with the same value."""
    return [point for i, point in enumerate(points) if i == 0 or point != points[i - 1]]


def check_curves(found, evaluations, report):
    expected = {
        "train": {tag: points for tag, points in found["whole"].items() if tag not in RATES},
        "eval": evaluations,
    }
    for name, of_metrics in {"train": "those of a run in a piece", "eval": "complete"}.items():
        curves, want = found["curves"][name], expected[name]
        points = sum(map(len, want.values()))
        other = [tag for tag in want if once(curves.get(tag, [])) != want[tag]]
        report.say(
            f"curves of {name} are {of_metrics}",
            points > 0 and not other,
            f"{len(want)} curves, {points} points" + (f"; other ones: {other}" if other else ""),
        )
        report.say(
            f"read at once, curves of {name} are the same", found["again"][name] == curves, f"{len(curves)} curves"
        )


def check_rest(found, report):
    tags = found["histograms"]
    of_gradients = [tag for tag in tags if "gradients" in tag]
    rising = all(a < b for steps in tags.values() for a, b in zip(steps, steps[1:]))
    report.say(
        "histograms of variables and gradients",
        0 < len(of_gradients) < len(tags) and rising,
        f"{len(tags)}, {len(of_gradients)} of gradients, {len(next(iter(tags.values()), []))} steps",
    )
    report.say(
        "nothing is purged but what SIGKILL made stale", len(found["purges"]) <= 1, f"{len(found['purges'])} purges"
    )
    report.say(
        "each session begins with SessionLog START", len(found["sessions"]) == 4, f"at steps {found['sessions']}"
    )
    hparams = found["hparams"]
    groups = hparams["groups"]
    holds = bool(groups) and groups[0]["hparams"].get("params.learning_rate") == 0.05
    report.say("the HParams plugin has the job's values", holds, f"{len(hparams['known'])} values")
    status = groups[0]["status"] if groups else "none"
    report.say("the HParams plugin shows an ended session", status == "STATUS_SUCCESS", status)
    report.say(
        "the HParams plugin finds metrics of train and eval",
        {"/loss", "eval/accuracy"} <= set(hparams["metrics"]),
        f"{len(hparams['metrics'])} metrics",
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", required=True, metavar="DIR", help="where MNIST's test set lies: t10k-images-idx3-ubyte.gz, ..."
    )
    parser.add_argument("--build", default=str(ROOT / "build" / "release"), metavar="DIR")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="tpuest-curves.") as folder:
        runs = Runs(arguments, pathlib.Path(folder))
        found = runs.make(report)
        check_curves(found, runs.evaluations(), report)
        check_rest(found, report)
        for name in EXPORTERS:
            runs.compare_export(name, report)
    sys.exit(1 if report.failed else 0)


if __name__ == "__main__":
    main()
