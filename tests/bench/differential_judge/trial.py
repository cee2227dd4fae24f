"""A case run on both sides, and its verdict: one function for each way of comparing."""

import concurrent.futures
import pathlib
import shutil

import compare
import job
import numpy as np
import workers

# Runs of both of TensorFlow's processes: as it is, and with the weights' last bits moved before each step.
MOVES = {"on": [None, (100, 1)], "off": [None, (200, 1)]}
# And more of them where little differs, since few tell the largest badly. What rounding repeats, as in the
# sum of a hundred equal numbers, no last bit changes: such are moved by more, to both sides, whose mean
# is the run itself but for rounding.
MORE_MOVES = {"on": [(300, 1), (400, 1), (500, 64), (500, -64)], "off": [(600, 1), (700, 1), (800, 64), (800, -64)]}


class Verdict:
    """differences: what compare says; kinds: those that a smaller case must keep one of; outcome: the count to which
    a case without differences belongs."""

    def __init__(self, differences=(), outcome="same"):
        self.differences, self.outcome = list(differences), outcome
        self.kinds = {compare.kind(difference) for difference in self.differences}

    def __bool__(self):
        return bool(self.differences)

    def has_small(self):
        """Whether there are numbers so little apart that it may be TensorFlow's drift."""
        return any(difference.get("part", 1) < compare.UNSTABLE for difference in self.differences)


def refused(by, message):
    return Verdict([{"place": f"refused by {by}", "lacks": message, "apart": float("inf")}])


def shortened(error):
    """TensorFlow's message begins with its sort and ends with its reason; where it was made stands between."""
    text = "\n".join(line for line in str(error).splitlines() if not line.lstrip().startswith("File "))
    return text if len(text) < 900 else text[:200] + " ... " + text[-700:]


class Judge:
    def __init__(self, program, work, pair):
        self.program, self.work, self.pair = program, pathlib.Path(work), pair
        self.threads = concurrent.futures.ThreadPoolExecutor(1)

    def folder(self):
        """An empty one for the case."""
        folder = self.work / "case"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def keep(self, folder):
        """Moves the files of the case at hand."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(self.work / "case", folder)

    def try_case(self, case):
        """The verdict; None where both sides refuse the case."""
        way = {
            "loop": loop,
            "exports": exports,
            "gaps": gaps,
            "checkpoints": checkpoints,
            "migrate": migrate,
            "mirrored": mirrored,
            "keras": of_script,
            "old_runs": of_script,
        }
        folder = self.folder()
        return way.get(case["part"], numbers)(self, case, folder, job.Ours(self.program, folder))

    def beside(self, ours, theirs):
        """(ours, theirs) of two calls made at the same time; what one raises stands for its result."""
        running = self.threads.submit(ours)
        try:
            answer = theirs()
        except workers.Failed as error:
            answer = error
        try:
            return running.result(), answer
        except job.Refused as error:
            return error, answer


def one_refused(ours, theirs):
    """(whether any side refused, the verdict on that)."""
    our_error, their_error = isinstance(ours, job.Refused), isinstance(theirs, workers.Failed)
    if our_error and their_error:
        return True, None
    if our_error:
        return True, refused("tpuest", str(ours))
    if their_error:
        return True, refused("TensorFlow", shortened(theirs))
    return False, None


def built(pair, case, folder):
    """The case's graphs in both processes, each built in one of them, and the initial checkpoint."""
    where = {"case": case, "folder": str(folder)}
    pair.on.call("write_data", **where)
    train, rest = pair.at_once(("open", {**where, "modes": ["train"]}), ("open", {**where, "modes": ["eval", "infer"]}))
    pair.at_once(("take", {"plans": rest}), ("take", {"plans": train}))
    pair.on.call("start")


def on_both(pair, do, moves, **arguments):
    """Runs of both processes that are asked to `do` something with their moves."""
    on, off = pair.at_once((do, {**arguments, "moves": moves["on"]}), (do, {**arguments, "moves": moves["off"]}))
    return on + off


def runs_of(pair):
    """The first is TensorFlow's as it is, the others tell its drift."""
    return on_both(pair, "runs", MOVES)


def mean_of(one, other):
    """Of two runs, or of any part of them; of words and whole numbers the first's."""
    if isinstance(one, dict):
        return {key: mean_of(value, other[key]) for key, value in one.items() if key in other}
    if isinstance(one, list):
        return [mean_of(*pair) for pair in zip(one, other)]
    value = np.asarray(one)
    if value.dtype.kind != "f" or value.shape != np.shape(other):
        return one
    return (value.astype(np.float64) + np.asarray(other, np.float64)) / 2


def drifted(runs):
    """Of runs by MORE_MOVES those that tell the drift."""
    half = len(runs) // 2
    return [run for on, more, up, down in (runs[:half], runs[half:]) for run in (on, more, mean_of(up, down))]


def settled(verdict_of, others, more):
    """The verdict beside these runs of TensorFlow's; where it is about little, beside MORE_MOVES', too."""
    verdict = verdict_of(others)
    return verdict_of(others + drifted(more())) if verdict.has_small() else verdict


def diverged(found, runs):
    """tpuest ends before a number that is not finite gets into a variable; TensorFlow goes on."""
    return (
        isinstance(found, job.Refused)
        and found.code == job.DIVERGED
        and not isinstance(runs, workers.Failed)
        and not compare.finite(runs[0])
    )


def numbers(judge, case, folder, ours):
    """Losses, variables, metrics and predictions."""
    try:
        built(judge.pair, case, folder)
    except workers.Failed as error:
        return refused_there(case, ours, error)
    found, runs = judge.beside(lambda: ours.run(case), lambda: runs_of(judge.pair))
    if diverged(found, runs):
        return None
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    if compare.unstable(runs) and case["steps"] > 1:
        return judge.try_case({**case, "steps": 1})
    found["variables"] = judge.pair.on.call("read", prefix=found["checkpoint"])
    return settled(
        lambda others: Verdict(compare.differences(found, runs[0], others)),
        runs[1:],
        lambda: on_both(judge.pair, "runs", MORE_MOVES),
    )


def mirrored(judge, case, folder, ours):
    """The variables of a run on replicas that each take batches of their own."""
    where = {"case": case, "folder": str(folder)}

    def moved(moves):
        starts = judge.pair.on.call("starts_moved", moves=moves)
        return judge.pair.on.call("mirrored", **where, starts=starts)

    try:
        judge.pair.on.call("write_data", **where)
        judge.pair.on.call("open", **where, modes=["train"])
        starts = [judge.pair.on.call("start"), *judge.pair.on.call("starts_moved", moves=MOVES["on"][1:])]
    except workers.Failed as error:
        return refused_there(case, ours, error)
    found, runs = judge.beside(
        lambda: ours.run(case),
        lambda: judge.pair.at_once(*[("mirrored", {**where, "starts": [start]}) for start in starts]),
    )
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    base, other = [alone(run) for [run] in runs]
    variables = judge.pair.on.call("read", prefix=found["checkpoint"])
    ours_alone = alone({name: value for name, value in variables.items() if name in base["variables"]})
    return settled(
        lambda others: Verdict(compare.differences(ours_alone, base, others)),
        [other],
        lambda: [alone(run) for moves in MORE_MOVES.values() for run in moved(moves)],
    )


def alone(variables):
    return {"losses": [], "variables": variables}


def refused_there(case, ours, error):
    """TensorFlow cannot build the model; neither should tpuest."""
    try:
        ours.run({**case, "start": "fresh"})
    except job.Refused:
        return None
    return refused("TensorFlow", shortened(error))


def loop(judge, case, folder, ours):
    """What train_and_evaluate leaves: checkpoints, events, exports."""
    where = {"case": case, "folder": str(folder)}
    judge.pair.on.call("write_data", **where)
    found, runs = judge.beside(
        lambda: ours.train_and_evaluate(case), lambda: judge.pair.both("train_and_evaluate", **where)
    )
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    left = judge.pair.on.call("left_in", folder=str(folder / "run"))
    return settled(
        lambda others: Verdict(compare.differences_of_places(left, runs[0], others)),
        runs[1:],
        lambda: on_both(judge.pair, "moved_loops", MORE_MOVES, **where),
    )


def exports(judge, case, folder, ours):
    """What TensorFlow makes of both sides' exports of one checkpoint, request by request."""
    where = {"case": case, "folder": str(folder)}
    try:
        judge.pair.on.call("write_data", **where)
        judge.pair.on.call("open", **where, modes=["train"])
        judge.pair.on.call("start")
        end = judge.pair.on.call("train", name="end")
    except workers.Failed:
        return None
    found, exported = judge.beside(
        lambda: ours.export(case, end), lambda: judge.pair.on.call("export", **where, prefix=end)
    )
    ended, verdict = one_refused(found, exported)
    if ended:
        return verdict
    serve = {"folder": exported, "requests": case["requests"], "raw": case["receiver"] == "raw"}
    try:
        runs = judge.pair.both("served", **serve)
        served = judge.pair.on.call("served", **{**serve, "folder": found})
    except workers.Failed as error:
        return refused("TensorFlow", shortened(error))
    return Verdict(compare.differences_of_places(served, runs[0], runs[1:]))


def rows_as_requests(case):
    """The rows of the evaluation without labels, in the batches of a prediction; arrays have defaults for gaps."""
    labels = case["labels"]
    taken = set(labels.values()) if isinstance(labels, dict) else {labels}
    features = {key: feature for key, feature in case["data"]["eval"].items() if key not in taken}
    is_raw = case["receiver"] == "raw"

    def value(feature, row):
        given = feature["values"][row]
        return feature["default_value"] if is_raw and given is None else given

    rows = [
        {key: {**feature, "values": value(feature, row)} for key, feature in features.items()}
        for row in range(len(next(iter(features.values()))["values"]))
    ]
    size = case["predict_batch_size"]
    return [rows[first : first + size] for first in range(0, len(rows), size)]


def gaps(judge, case, folder, ours):
    """What TensorFlow makes of tpuest's export from rows with gaps, beside tpuest's predictions of them."""
    where = {"case": case, "folder": str(folder)}
    try:
        judge.pair.on.call("write_data", **where)
        judge.pair.on.call("open", **where, modes=["train"])
        judge.pair.on.call("start")
        end = judge.pair.on.call("train", name="end")
    except workers.Failed:
        return None
    try:
        exported = ours.export(case, end)
        predicted = ours.predictions("job.yaml", "--checkpoint", end)
    except job.Refused as error:
        return refused("tpuest", str(error))
    requests = rows_as_requests(case)
    try:
        runs = judge.pair.both("served", folder=exported, requests=requests, raw=case["receiver"] == "raw")
    except workers.Failed as error:
        return refused("TensorFlow", shortened(error))
    theirs, other = [
        {place: value for place, value in run.items() if place.startswith("served predict ")} for run in runs
    ]
    ours_served, first = {}, 0
    for index, batch in enumerate(requests):
        place = f"served predict request {index}"
        ours_served[place] = np.asarray("served")
        for key, values in predicted.items():
            ours_served[f"{place} {key}"] = values[first : first + len(batch)]
        first += len(batch)
    return Verdict(compare.differences_of_places(ours_served, theirs, [other]))


def checkpoints(judge, case, folder, ours):
    """Each side goes on from the other's checkpoint, on batches that hold all rows."""
    half = {**case, "steps": case["steps"] // 2}
    try:
        built(judge.pair, case, folder)
        found, runs = judge.beside(lambda: ours.run(half), lambda: runs_of(judge.pair))
        if isinstance(runs, workers.Failed):
            raise runs
        if diverged(found, runs):
            return None
        middle = judge.pair.on.call("train", steps=half["steps"], name="middle")
    except workers.Failed as error:
        return refused_there(case, ours, error)
    if isinstance(found, job.Refused):
        return refused("tpuest", str(found))
    left = case["steps"] - half["steps"]
    on_from = judge.pair.on.call("goes_on", prefix=found["checkpoint"], steps=left)
    try:
        going_on = ours.goes_on(case, middle)
    except job.Refused as error:
        return None if diverged(error, runs) else refused("tpuest", str(error))
    going_on["variables"] = judge.pair.on.call("read", prefix=going_on["checkpoint"])
    base, *others = without_losses(runs)
    ends = without_losses([going_on, on_from])

    def verdict_of(others):
        found, back = [compare.differences(end, base, others) for end in ends]
        for difference in back:
            difference["place"] += " (TensorFlow going on from tpuest's)"
        return Verdict(found + back)

    return settled(verdict_of, others, lambda: without_losses(on_both(judge.pair, "runs", MORE_MOVES)))


def without_losses(runs):
    return [{**run, "losses": []} for run in runs]


# What the scripts say of a case that does not differ, by the counts here. None: TensorFlow refuses it.
OUTCOMES = {"same": "same", "refused": "refused", "marked": "marked", "illegal": None, "not trained": None}


def of_script(judge, case, folder, ours):
    """What keras_compile.py or migrate_runs.py finds."""
    try:
        said, why = judge.pair.on.call(case["part"], program=ours.program, folder=str(folder), seed=case["seed"])
    except workers.Failed as error:
        return refused("TensorFlow", shortened(error))
    if said not in OUTCOMES:
        return Verdict([{"place": f"{case['part']} {said}", "lacks": why, "apart": float("inf")}])
    return Verdict(outcome=OUTCOMES[said]) if OUTCOMES[said] else None


def old_runs(pair, case, folder):
    """An old run's last prefix, its graphs in both processes, and what they make of it."""
    where = {"case": case, "folder": str(folder)}
    pair.on.call("write_data", **where)
    prefix, plans = pair.at_once(("old_run", where), ("open", {**where, "modes": ["train", "eval", "infer"]}))
    pair.on.call("open", **where)
    pair.on.call("take", plans=plans)
    return prefix, on_both(pair, "there_and_on", {"on": [None], "off": [(100, 1)]}, prefix=prefix)


def migrate(judge, case, folder, ours):
    """The job that migrate writes for an old run: what it evaluates to, there and two steps later."""
    try:
        prefix, (theirs, moved) = old_runs(judge.pair, case, folder)
    except workers.Failed:
        return None
    try:
        if ours.migrate():
            return Verdict()
        there = {"losses": [], **ours.migrated(case, "there")}
        on = {"losses": [], **ours.migrated(case, "on")}
    except job.Refused as error:
        return refused("tpuest", str(error))
    on["variables"] = judge.pair.on.call("read", prefix=on.pop("checkpoint"))

    def verdict_of(moved):
        found = compare.differences(there, plain(theirs["there"]), [plain(one["there"]) for one in moved])
        later = compare.differences(on, {"losses": [], **theirs["on"]}, [{"losses": [], **one["on"]} for one in moved])
        for difference in later:
            difference["place"] += " (two steps later)"
        return Verdict(found + later)

    return settled(verdict_of, [moved], lambda: on_both(judge.pair, "there_and_on", MORE_MOVES, prefix=prefix))


def plain(results):
    """Of results at a checkpoint, what a job that is evaluated there has."""
    return {"losses": [], **{key: value for key, value in results.items() if key != "variables"}}
