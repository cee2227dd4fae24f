"""Draws optimizers of Keras and of tf.train, with schedules, clipping and averages."""

KERAS = ["SGD", "Adam", "RMSprop", "Adagrad", "Ftrl"]
TRAIN = [
    "GradientDescentOptimizer",
    "MomentumOptimizer",
    "AdamOptimizer",
    "AdagradOptimizer",
    "RMSPropOptimizer",
    "FtrlOptimizer",
]


def schedule(random, rate):
    kind = random.choice(
        [
            "exponential_decay",
            "natural_exp_decay",
            "inverse_time_decay",
            "polynomial_decay",
            "piecewise_constant",
            "cosine_decay",
            "cosine_decay_restarts",
        ]
    )
    if kind == "piecewise_constant":
        return {"type": kind, "boundaries": [1, 3], "values": [rate, rate / 2, rate / 10]}
    spec = {"type": kind, "learning_rate": rate}
    if kind == "cosine_decay_restarts":
        spec.update(first_decay_steps=random.choice([2, 3, 4]), t_mul=random.choice([1.0, 1.5, 2.0]))
        if random.random() < 0.5:
            spec.update(m_mul=0.7, alpha=0.1)
        return spec
    spec["decay_steps"] = random.choice([2, 4, 10])
    if kind == "polynomial_decay":
        spec.update(end_learning_rate=rate / 20, power=random.choice([1.0, 2.0, 0.5]))
        if random.random() < 0.4:
            spec["cycle"] = True
    elif kind == "cosine_decay":
        spec["alpha"] = random.choice([0.0, 0.2])
    else:
        spec["decay_rate"] = random.choice([0.5, 0.96])
        spec["staircase"] = random.random() < 0.5
    return spec


def options_of(random, kind):
    """Arguments of TensorFlow's class of this name, each drawn now and then."""
    maybe = {}
    if kind in ("SGD", "MomentumOptimizer"):
        maybe["momentum"] = random.choice([0.5, 0.9])
        maybe["nesterov" if kind == "SGD" else "use_nesterov"] = random.random() < 0.5
    elif kind == "Adam":
        maybe.update(beta_1=0.8, beta_2=0.95, epsilon=random.choice([1e-7, 1e-3]))
    elif kind == "AdamOptimizer":
        maybe.update(beta1=0.8, beta2=0.95, epsilon=random.choice([1e-7, 1e-3]))
    elif kind == "RMSprop":
        maybe.update(rho=0.8, momentum=0.5, epsilon=1e-3, centered=True)
    elif kind == "RMSPropOptimizer":
        maybe.update(decay=0.8, momentum=0.5, epsilon=1e-3, centered=True)
    elif kind in ("Adagrad", "AdagradOptimizer"):
        maybe["initial_accumulator_value"] = random.choice([0.01, 1.0])
    elif kind in ("Ftrl", "FtrlOptimizer"):
        maybe.update(
            learning_rate_power=-0.6,
            initial_accumulator_value=0.5,
            l1_regularization_strength=0.01,
            l2_regularization_strength=0.05,
            l2_shrinkage_regularization_strength=0.02,
        )
    chosen = {key: value for key, value in maybe.items() if random.random() < 0.5}
    if kind == "MomentumOptimizer":
        chosen["momentum"] = maybe["momentum"]
    return chosen


def optimizer(random, family, plain=False):
    """An optimizer; plain ones have a number for a rate and nothing beside their own arguments."""
    kind = random.choice(KERAS if family == "keras" else TRAIN)
    rate = random.choice([0.01, 0.05, 0.1])
    spec = {"type": kind, "learning_rate": rate, **options_of(random, kind)}
    if plain:
        return spec
    if random.random() < 0.4:
        spec["learning_rate"] = schedule(random, rate)
    elif family == "keras" and random.random() < 0.2:
        spec["decay"] = 0.1
    if family == "keras" and random.random() < 0.4:
        spec.update(random.choice([{"clipvalue": 0.02}, {"clipnorm": 0.1}, {"global_clipnorm": 0.1}]))
    elif family == "train" and random.random() < 0.3:
        spec["clip_by_global_norm"] = 0.1
    if family == "train" and random.random() < 0.3:
        spec["exponential_moving_average"] = {"decay": 0.9, "use_in_eval": False}
        if random.random() < 0.5:
            spec["exponential_moving_average"]["num_updates"] = "global_step"
    return spec


def several(random, count, families, plain=False):
    """Optimizers of one model, all of one family, or None for the model's own."""
    if random.random() < 0.15:
        return [None] * count
    family = random.choice(families)
    drawn = [optimizer(random, family, plain) for _ in range(count)]
    for other in drawn[1:]:  # a job keeps one set of averages
        other.pop("exponential_moving_average", None)
    return drawn
