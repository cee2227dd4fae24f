"""Draws a case as a function of the seed and the case's number: a job, its files, a schedule."""

import random as random_module

import draw_faults
import draw_jobs


def case(seed, index):
    random = random_module.Random(f"{seed} faults {index}")
    command, job, files = draw_jobs.job(random)
    drawn = {"seed": seed, "index": index, "command": command, "job": job, "files": files}
    drawn["schedule"] = draw_faults.schedule(random, drawn)
    return drawn
