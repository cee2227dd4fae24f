#!/usr/bin/env python3
"""Writes table_steps.txt: two steps of an embedding table by each of the optimizers of tables.

The table is [[.1, .2], [.3, -.4], [.5, .6], [-.7, .8]]. A step looks up rows 1, 3 and 1, with the
gradients (.5, -1), (.25, .5) and (1, 2); the rate is .1. A line is a case, the step, and the eight
weights behind it. The rules are written down here once more, in numpy's float32. Where TensorFlow has
a kernel with the same rule (ResourceSparseApply...) its weights are held to these within 1e-6; Adam,
AdagradMomentum, ProximalYogi and what clips or decays run on TPUs alone.

  python make_table_steps.py [--check]    with numpy, and with --check TensorFlow
"""

import os
import sys

import numpy as np

F = np.float32
LR = F(0.1)
TABLE = np.array([[0.1, 0.2], [0.3, -0.4], [0.5, 0.6], [-0.7, 0.8]], F)
LOOKUPS = [(1, (0.5, -1)), (3, (0.25, 0.5)), (1, (1, 2))]


def shrink(w, rate, l1, l2):
    return np.sign(w) * np.maximum(np.abs(w) - rate * F(l1), 0) / (1 + rate * F(l2))


class Rule:
    slots = ()

    def __init__(self, **arguments):
        self.arguments = arguments

    def __getattr__(self, name):
        return F(self.arguments[name])


class SGD(Rule):
    def step(self, w, g):
        return (w - LR * g,)


class Adagrad(Rule):
    slots = (0.1,)

    def step(self, w, g, a):
        a = a + g * g
        return w - LR * g / np.sqrt(a), a


class ProximalAdagrad(Rule):
    slots = (0.1,)

    def step(self, w, g, a):
        a = a + g * g
        rate = LR / np.sqrt(a)
        return shrink(w - rate * g, rate, 0.1, 0.2), a


class AdagradMomentum(Rule):
    slots = (0, 0)

    def step(self, w, g, a, m):
        a = a + g * g
        m = F(0.9) * m + g * (a + F(1e-10)) ** F(-0.5)
        return w - LR * m, a, m


class Adam(Rule):
    slots = (0, 0)

    def step(self, w, g, m, v):
        m = F(0.9) * m + (1 - F(0.9)) * g
        v = F(0.999) * v + (1 - F(0.999)) * g * g
        inside = self.arguments.get("inside", True)
        below = np.sqrt(v + self.epsilon**2) if inside else np.sqrt(v) + self.epsilon
        return w - LR * m / below, m, v


class Ftrl(Rule):
    slots = (0.1, 0)

    def step(self, w, g, a, linear):
        n = a + g * g
        linear = linear + g - (np.sqrt(n) - np.sqrt(a)) * w / LR
        below = (np.sqrt(n) + self.beta) / LR + 2 * self.l2
        return (np.clip(linear, -self.l1, self.l1) - linear) / below, n, linear


class Yogi(Rule):
    slots = (1e-6, 0)

    def step(self, w, g, v, m):
        v = v + (1 - F(0.999)) * np.sign(g * g - v) * g * g
        m = F(0.9) * m + (1 - F(0.9)) * g
        return w - LR / (np.sqrt(v) + F(1e-3)) * m, v, m


class Momentum(Rule):
    slots = (0,)

    def step(self, w, g, m):
        m = F(0.9) * m + g
        return w - LR * (g + F(0.9) * m if self.arguments.get("nesterov") else m), m


class RMSProp(Rule):
    slots = (0, 0)

    def step(self, w, g, ms, mom):
        ms = ms + (1 - F(0.9)) * (g * g - ms)
        mom = F(0.5) * mom + LR * g / np.sqrt(ms + F(1e-3))
        return w - mom, ms, mom


class Bounded:
    """Another rule with what may stand around it."""

    def __init__(self, rule, clip_gradient=None, decay=0.0, clip_weight=None):
        self.rule, self.slots, self.decay = rule, rule.slots, F(decay)
        self.clip_gradient, self.clip_weight = clip_gradient, clip_weight

    def step(self, w, g, *slots):
        if self.clip_gradient:
            g = np.clip(g, F(self.clip_gradient[0]), F(self.clip_gradient[1]))
        w, *slots = self.rule.step(w - w * self.decay, g, *slots)
        if self.clip_weight:
            w = np.clip(w, F(self.clip_weight[0]), F(self.clip_weight[1]))
        return w, *slots


CASES = {
    "SGD": SGD(),
    "Adagrad": Adagrad(),
    "Adagrad clip_gradient": Bounded(Adagrad(), clip_gradient=(-0.6, 0.6)),
    "Adagrad weight_decay": Bounded(Adagrad(), decay=0.1),
    "Adagrad weight_decay times rate": Bounded(Adagrad(), decay=0.1 * 0.1),
    "Adagrad clip_weight": Bounded(Adagrad(), clip_weight=(-0.5, 0.25)),
    "Adam": Adam(epsilon=1e-8),
    "Adam inside": Adam(epsilon=0.01),
    "Adam outside": Adam(epsilon=0.01, inside=False),
    "Ftrl": Ftrl(l1=0, l2=0, beta=0),
    "Ftrl regularized": Ftrl(l1=0.1, l2=0.2, beta=0.5),
    "Momentum": Momentum(),
    "Momentum nesterov": Momentum(nesterov=True),
    "RMSProp": RMSProp(),
    "ProximalAdagrad": ProximalAdagrad(),
    "AdagradMomentum": AdagradMomentum(),
    "ProximalYogi": Yogi(),
}


def gradient():
    sums = np.zeros_like(TABLE)
    for row, g in LOOKUPS:
        sums[row] += np.array(g, F)
    return sums


def steps(rule):
    """The weights after each of two steps."""
    g = gradient()
    rows = sorted({row for row, _ in LOOKUPS})
    w, slots = TABLE.copy(), [np.full_like(TABLE, slot) for slot in rule.slots]
    after = []
    for _ in range(2):
        w[rows], *moved = rule.step(w[rows], g[rows], *[slot[rows] for slot in slots])
        for slot, value in zip(slots, moved):
            slot[rows] = value
        after.append(w.copy())
    return after


def kernels():
    """TensorFlow's kernels by case: takes the variables, the sums and the rows."""
    import tensorflow as tf

    ops = tf.raw_ops

    def momentum(nesterov):
        return lambda v, g, rows: ops.ResourceSparseApplyMomentum(
            var=v[0], accum=v[1], lr=LR, grad=g, indices=rows, momentum=F(0.9), use_nesterov=nesterov
        )

    def ftrl(l1, l2):
        return lambda v, g, rows: ops.ResourceSparseApplyFtrl(
            var=v[0], accum=v[1], linear=v[2], grad=g, indices=rows, lr=LR, l1=F(l1), l2=F(l2), lr_power=F(-0.5)
        )

    return {
        "Adagrad": lambda v, g, rows: ops.ResourceSparseApplyAdagrad(var=v[0], accum=v[1], lr=LR, grad=g, indices=rows),
        "ProximalAdagrad": lambda v, g, rows: ops.ResourceSparseApplyProximalAdagrad(
            var=v[0], accum=v[1], lr=LR, l1=F(0.1), l2=F(0.2), grad=g, indices=rows
        ),
        "RMSProp": lambda v, g, rows: ops.ResourceSparseApplyRMSProp(
            var=v[0], ms=v[1], mom=v[2], lr=LR, rho=F(0.9), momentum=F(0.5), epsilon=F(1e-3), grad=g, indices=rows
        ),
        "Momentum": momentum(False),
        "Momentum nesterov": momentum(True),
        "Ftrl": ftrl(0, 0),
        "Ftrl regularized": ftrl(0.1, 0.2 + 0.5 / (2 * 0.1)),
    }


def check():
    import tensorflow as tf

    rows = sorted({row for row, _ in LOOKUPS})
    for case, kernel in kernels().items():
        variables = [tf.Variable(TABLE)] + [tf.Variable(np.full_like(TABLE, s)) for s in CASES[case].slots]
        for expected in steps(CASES[case]):
            kernel([v.handle for v in variables], tf.constant(gradient()[rows]), tf.constant(rows))
            worst = np.abs(variables[0].numpy() - expected).max()
            assert worst <= 1e-6, (case, worst)
        print(f"{case}: TensorFlow agrees")


def main():
    if "--check" in sys.argv:
        return check()
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "table_steps.txt"), "w") as out:
        for case, rule in CASES.items():
            for step, w in enumerate(steps(rule), 1):
                print(f"{case}: {step}: {' '.join(f'{x:.8g}' for x in w.ravel())}", file=out)


if __name__ == "__main__":
    main()
