"""A case run on both sides, and its verdict: one function for each way of comparing."""
import concurrent.futures
import pathlib
import shutil

import compare
import job
import workers

# Runs of both of TensorFlow's processes: as it is, and with the weights' last bits moved before each step.
SIGNS = {"on": [None, 100], "off": [None, 200]}


class Verdict:
    """differences: what compare says; kinds: those that a smaller case must keep one of."""

    def __init__(self, differences=()):
        self.differences = list(differences)
        self.kinds = {compare.kind(difference) for difference in self.differences}

    def __bool__(self):
        return bool(self.differences)


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

    def try_case(self, case):
        """The verdict; None where both sides refuse the case."""
        way = {"loop": loop, "exports": exports, "checkpoints": checkpoints,
               "migrate": migrate, "mirrored": mirrored}
        folder = self.folder()
        return way.get(case["part"], numbers)(self, case, folder,
                                              job.Ours(self.program, folder))

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
    train, rest = pair.at_once(("open", {**where, "modes": ["train"]}),
                               ("open", {**where, "modes": ["eval", "infer"]}))
    pair.at_once(("take", {"plans": rest}), ("take", {"plans": train}))
    pair.on.call("start")


def runs_of(pair):
    """The first is TensorFlow's as it is, the others tell its drift."""
    on, off = pair.at_once(("runs", {"signs": SIGNS["on"]}), ("runs", {"signs": SIGNS["off"]}))
    return on + off


def diverged(found, runs):
    """tpuest ends before a number that is not finite gets into a variable; TensorFlow goes on."""
    return (isinstance(found, job.Refused) and found.code == job.DIVERGED and
            not isinstance(runs, workers.Failed) and not compare.finite(runs[0]))


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
    return Verdict(compare.differences(found, runs[0], runs[1:]))


def mirrored(judge, case, folder, ours):
    """The variables of a run on replicas that each take batches of their own."""
    where = {"case": case, "folder": str(folder)}
    try:
        judge.pair.on.call("write_data", **where)
        judge.pair.on.call("open", **where, modes=["train"])
        starts = [judge.pair.on.call("start"), judge.pair.on.call("start_moved", sign=100)]
    except workers.Failed as error:
        return refused_there(case, ours, error)
    found, runs = judge.beside(
        lambda: ours.run(case),
        lambda: judge.pair.at_once(*[("mirrored", {**where, "start": start}) for start in starts]))
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    variables = judge.pair.on.call("read", prefix=found["checkpoint"])
    variables = {name: value for name, value in variables.items() if name in runs[0]}
    return Verdict(compare.differences(*map(alone, (variables, runs[0])), list(map(alone, runs[1:]))))


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
    found, runs = judge.beside(lambda: ours.train_and_evaluate(case),
                               lambda: judge.pair.both("train_and_evaluate", **where))
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    left = judge.pair.on.call("left_in", folder=str(folder / "run"))
    return Verdict(compare.differences_of_places(left, runs[0], runs[1:]))


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
    found, exported = judge.beside(lambda: ours.export(case, end),
                                   lambda: judge.pair.on.call("export", **where, prefix=end))
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
    base, *others = [{**run, "losses": []} for run in runs]
    ends = [{**going_on, "losses": []}, {**on_from, "losses": []}]
    found, back = [compare.differences(end, base, others) for end in ends]
    for difference in back:
        difference["place"] += " (TensorFlow going on from tpuest's)"
    return Verdict(found + back)


def old_runs(pair, case, folder):
    """An old run's last prefix, its graphs in both processes, and what they make of it."""
    where = {"case": case, "folder": str(folder)}
    pair.on.call("write_data", **where)
    prefix, plans = pair.at_once(("old_run", where),
                                 ("open", {**where, "modes": ["train", "eval", "infer"]}))
    pair.on.call("open", **where)
    pair.on.call("take", plans=plans)
    return pair.at_once(("there_and_on", {"prefix": prefix, "sign": None}),
                        ("there_and_on", {"prefix": prefix, "sign": 100}))


def migrate(judge, case, folder, ours):
    """The job that migrate writes for an old run: what it evaluates to, there and two steps later."""
    try:
        theirs, moved = old_runs(judge.pair, case, folder)
    except workers.Failed:
        return None
    try:
        if ours.migrate():
            return Verdict()
        there = {"losses": [], **ours.migrated(case, "there")}
        on = {"losses": [], **ours.migrated(case, "on")}
    except job.Refused as error:
        return refused("tpuest", str(error))
    found = compare.differences(there, plain(theirs["there"]), [plain(moved["there"])])
    on["variables"] = judge.pair.on.call("read", prefix=on.pop("checkpoint"))
    later = compare.differences(on, {"losses": [], **theirs["on"]}, [{"losses": [], **moved["on"]}])
    for difference in later:
        difference["place"] += " (two steps later)"
    return Verdict(found + later)


def plain(results):
    """Of results at a checkpoint, what a job that is evaluated there has."""
    return {"losses": [], **{key: value for key, value in results.items() if key != "variables"}}
