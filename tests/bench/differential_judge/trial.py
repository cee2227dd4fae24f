"""A case run on both sides, and its verdict: one function for each way of comparing."""
import concurrent.futures
import pathlib
import shutil

import compare
import job
import workers

# Runs of TensorFlow's: as it is, and with the weights' last bits moved before each step, in two ways.
SIGNS = [None, 100, 200]


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
    """TensorFlow's message begins with its sort and ends with its reason."""
    text = str(error)
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


def numbers(judge, case, folder, ours):
    """Losses, variables, metrics and predictions."""
    def theirs():
        judge.pair.on.ask("runs", signs=SIGNS)
        try:
            judge.pair.off.call("open", case=case, folder=str(folder))
            off = judge.pair.off.call("runs", signs=[None], name="off")
        finally:
            on = judge.pair.on.answer()
        return on + off

    try:
        judge.pair.on.call("start", case=case, folder=str(folder))
    except workers.Failed as error:
        return refused_there(case, ours, error)
    found, runs = judge.beside(lambda: ours.run(case), theirs)
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    if compare.unstable(runs) and case["steps"] > 1:
        return judge.try_case({**case, "steps": 1})
    found["variables"] = judge.pair.on.call("read", prefix=found["checkpoint"])
    return Verdict(compare.differences(found, runs[0], runs[1:]))


def mirrored(judge, case, folder, ours):
    """The variables of a run on replicas that each take batches of their own."""
    try:
        judge.pair.on.call("start", case=case, folder=str(folder))
    except workers.Failed as error:
        return refused_there(case, ours, error)

    def theirs():
        on = judge.pair.on.call("mirrored", case=case, folder=str(folder))
        shutil.rmtree(folder / "mirrored")
        return [on, judge.pair.off.call("mirrored", case=case, folder=str(folder))]

    found, runs = judge.beside(lambda: ours.run(case), theirs)
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
        ours.write({**case, "start": "fresh"})
        ours.tpuest("train", "job.yaml")
    except job.Refused:
        return None
    return refused("TensorFlow", shortened(error))


def loop(judge, case, folder, ours):
    """What train_and_evaluate leaves: checkpoints, events, exports."""
    def theirs():
        judge.pair.on.ask("train_and_evaluate", case=case, folder=str(folder / "on"))
        try:
            off = judge.pair.off.call("train_and_evaluate", case=case, folder=str(folder / "off"))
        finally:
            on = judge.pair.on.answer()
        return [on, off]

    judge.pair.on.call("write_data", case=case, folder=str(folder))
    found, runs = judge.beside(lambda: ours.train_and_evaluate(case), theirs)
    ended, verdict = one_refused(found, runs)
    if ended:
        return verdict
    left = judge.pair.on.call("left_in", folder=str(folder / "run"))
    return Verdict(compare.differences_of_places(left, runs[0], runs[1:]))


def exports(judge, case, folder, ours):
    """What TensorFlow makes of both sides' exports of one checkpoint, request by request."""
    def theirs():
        return judge.pair.on.call("export", case=case, folder=str(folder), prefix=end)

    try:
        judge.pair.on.call("start", case=case, folder=str(folder))
        end = judge.pair.on.call("train", name="end")
    except workers.Failed:
        return None
    found, exported = judge.beside(lambda: ours.export(case, end), theirs)
    ended, verdict = one_refused(found, exported)
    if ended:
        return verdict
    serve = {"requests": case["requests"]}
    judge.pair.off.ask("served", folder=exported, **serve)
    try:
        runs = [judge.pair.on.call("served", folder=exported, **serve)]
        served = judge.pair.on.call("served", folder=found, **serve)
    except workers.Failed as error:
        return refused("TensorFlow", shortened(error))
    finally:
        other = judge.pair.off.answer()
    return Verdict(compare.differences_of_places(served, runs[0], [other]))


def checkpoints(judge, case, folder, ours):
    """Each side goes on from the other's checkpoint, on batches that hold all rows."""
    half = {**case, "steps": case["steps"] // 2}
    try:
        judge.pair.on.call("start", case=case, folder=str(folder))
        runs = judge.pair.on.call("runs", signs=SIGNS)
        middle = judge.pair.on.call("train", steps=half["steps"], name="middle")
    except workers.Failed as error:
        return refused_there(case, ours, error)
    try:
        halfway = ours.run(half)
        on_from = judge.pair.on.call("goes_on", prefix=halfway["checkpoint"],
                                     steps=case["steps"] - half["steps"])
        going_on = ours.goes_on(case, middle)
    except job.Refused as error:
        return refused("tpuest", str(error))
    except workers.Failed as error:
        return refused("TensorFlow", shortened(error))
    going_on["variables"] = judge.pair.on.call("read", prefix=going_on["checkpoint"])
    base = {key: value for key, value in runs[0].items() if key != "losses"}
    others = [{**run, "losses": []} for run in runs]
    found = compare.differences({**going_on, "losses": []}, {**base, "losses": []}, others[1:])
    back = compare.differences({**on_from, "losses": []}, {**base, "losses": []}, others[1:])
    for difference in back:
        difference["place"] += " (TensorFlow going on from tpuest's)"
    return Verdict(found + back)


def migrate(judge, case, folder, ours):
    """The job that migrate writes for an old run: what it evaluates to, there and two steps later."""
    try:
        theirs = judge.pair.on.call("old_run", case=case, folder=str(folder))
        judge.pair.off.call("open", case=case, folder=str(folder))
        off = judge.pair.off.call("results_at", prefix=theirs["prefix"])
    except workers.Failed:
        return None
    try:
        unsure = ours.migrate()
        there = {"losses": [], **ours.migrated(case, "there")}
    except job.Refused as error:
        return refused("tpuest", str(error))
    if unsure:
        return Verdict()
    found = compare.differences(there, plain(theirs["there"]), [plain(off)])
    try:
        on = {"losses": [], **ours.migrated(case, "on")}
    except job.Refused as error:
        return refused("tpuest", str(error))
    on["variables"] = judge.pair.on.call("read", prefix=on.pop("checkpoint"))
    later = compare.differences(on, {"losses": [], **theirs["on"]}, [{"losses": [], **theirs["moved"]}])
    for difference in later:
        difference["place"] += " (two steps later)"
    return Verdict(found + later)


def plain(results):
    """Of results at a checkpoint, what a job that is evaluated there has."""
    return {"losses": [], **{key: value for key, value in results.items() if key != "variables"}}
