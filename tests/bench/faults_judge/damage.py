"""Damages a file of a run between two attempts, and says what may differ after it.

Text files get a byte that no text has, since a digit that has become another one is not to be told; a
bit is flipped in `checkpoint`, which names files, and in bundles, which have checksums.

What may differ, and why:
  checkpoint       A flipped bit or a cut may leave a whole file that names fewer checkpoints or another
                   older one. Older checkpoints that it does not name are nobody's any more, and stay; in
                   its place one is kept that would have gone. A newer one than it named, which is
                   whole since only the file that names it was not written, may be gone on with:
                   the run between had gone on from before it, without the lines of metrics.jsonl.
  metrics.jsonl    Lines up to the last step in it may be lost: nothing else has the speeds.
  run.json         What it says of the input may be lost: a run with nothing left to train opens none.
  events files     Values up to their last step may be lost: nothing else has the summaries.
  best             Where metrics.jsonl and an evaluation's events were both damaged nothing has the
                   values of those that are kept, and later ones may take their place.
Shards and indices are written again by the run that goes on from an older checkpoint. Where there is
no other one, the command ends with exit code 4, and the file is brought back.
"""

import pathlib

import records
import snapshot


def newest(run):
    """The prefix of the newest checkpoint on disk; None where there is none."""
    steps = sorted(int(path.name.split("-")[1].split(".")[0]) for path in run.glob("model.ckpt-*.index"))
    return f"model.ckpt-{steps[-1]}" if steps else None


def target(run, file):
    """The path that a fault means; None where it is not there."""
    if file in ("shard", "index"):
        prefix = newest(run)
        path = run / f"{prefix}.{'index' if file == 'index' else 'data-00000-of-00001'}"
        return path if prefix and path.exists() else None
    if file in ("events", "eval events"):
        found = sorted((run if file == "events" else run / "eval").glob("events.out.tfevents.*"))
        return found[-1] if found else None
    path = run / file if file in ("checkpoint", "best") else run / ".tpuest" / file
    return path if path.exists() else None


def damaged(data, file, how, at):
    """The bytes after the damage; None: the file is gone."""
    if how == "delete":
        return None
    if how == "empty" or not data:
        return b""
    place = min(int(at * len(data)), len(data) - 1)
    if how == "cut":
        return data[:place]
    changed = bytearray(data)
    is_text = file in ("metrics.jsonl", "run.json", "evaluated.json", "best")
    changed[place] = 0xFF if is_text else changed[place] ^ 1 << int(at * 1000) % 8
    return bytes(changed)


def last_step(path):
    """The last step that a file of lines or events tells of; it is read before the damage."""
    if path.name == "metrics.jsonl":
        steps = [line.get("step", 0) for line in snapshot.metrics(path) if line]
    else:
        steps = [records.event(record)["step"] for record in records.records(path.read_bytes())[0]]
    return max(steps, default=0)


def allow(run, path, file, allowed):
    if file == "run.json":
        allowed[file] = ["input"]
    elif file == "checkpoint":
        kept = {p.name.split(".index")[0] for p in run.glob("model.ckpt-*.index")}
        allowed.setdefault("checkpoints", set()).update(kept)
        last = newest(run)
        if last and f'"{last}"'.encode() not in path.read_bytes():
            allowed["metrics.jsonl"] = max(allowed.get("metrics.jsonl", -1), int(last.split("-")[1]))
    elif file == "metrics.jsonl":
        allowed[file] = max(allowed.get(file, -1), last_step(path))
    elif file in ("events", "eval events"):
        key = f"events of {'.' if file == 'events' else 'eval'}"
        allowed[key] = max(allowed.get(key, -1), last_step(path))
    if "metrics.jsonl" in allowed and "events of eval" in allowed:
        allowed["best"] = True


def harm(run, fault, allowed):
    """Damages the file and adds to what may differ; (path, bytes before), or None: it is not there."""
    run = pathlib.Path(run)
    path = target(run, fault["file"])
    if path is None:
        return None
    before = path.read_bytes()
    after = damaged(before, fault["file"], fault["how"], fault["at"])
    # The file as it is, cut or flipped at its end, may be whole.
    is_state = fault["file"] == "checkpoint"
    if not is_state or (after is not None and fault["how"] in ("cut", "flip")):
        allow(run, path, fault["file"], allowed)
    if after is None and fault["file"] == "checkpoint":
        # In the midst of a save one more is there, which pushes one out; without the file nothing
        # tells which.
        there = {p.name.split(".index")[0] for p in run.glob("model.ckpt-*.index")}
        if any(f'"{name}"'.encode() not in before for name in there):
            allowed.setdefault("checkpoints", set()).update(there)
    if after is None:
        path.unlink()
    else:
        path.write_bytes(after)
    return path, before


def others_hold(run, harmed):
    """Whether a checkpoint is there of which no file was harmed."""
    bad = {path.name.split(".index")[0].split(".data")[0] for path in harmed}
    return any(path.name.split(".index")[0] not in bad for path in pathlib.Path(run).glob("model.ckpt-*.index"))
