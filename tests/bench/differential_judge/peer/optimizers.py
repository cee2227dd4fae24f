"""Optimizers and schedules by TensorFlow, from what a job says of them."""

import tensorflow as tf

V1 = tf.compat.v1
KERAS = ("SGD", "Adam", "RMSprop", "Adagrad", "Ftrl")


def rate(spec):
    """A number, or the schedule's tensor over the global step."""
    if not isinstance(spec, dict):
        return spec
    arguments = {key: value for key, value in spec.items() if key != "type"}
    step = V1.train.get_or_create_global_step()
    if spec["type"] == "constant":
        return arguments["learning_rate"]
    if spec["type"] == "piecewise_constant":
        return V1.train.piecewise_constant(step, arguments["boundaries"], arguments["values"])
    return getattr(V1.train, spec["type"])(global_step=step, **arguments)


class Wrapped:
    """An optimizer of tf.train that clips first and keeps averages after, as model_fns did by hand."""

    @staticmethod
    def of(kind, arguments, clip, averages):
        base = getattr(V1.train, kind)

        class Optimizer(base):
            def apply_gradients(self, grads_and_vars, global_step=None, name=None):
                pairs = [(g, v) for g, v in grads_and_vars if g is not None]
                gradients, variables = [g for g, _ in pairs], [v for _, v in pairs]
                if clip is not None:
                    gradients, _ = tf.clip_by_global_norm(gradients, clip)
                if averages is None:
                    return super().apply_gradients(zip(gradients, variables), global_step, name)
                update = super().apply_gradients(zip(gradients, variables), global_step, name)
                with tf.control_dependencies([update]):
                    return averaged(averages, variables)

        Optimizer.__name__ = kind
        return Optimizer(**arguments)


def averaged(options, variables):
    num_updates = None
    if options.get("num_updates") == "global_step":
        num_updates = V1.train.get_global_step()
    average = tf.train.ExponentialMovingAverage(options["decay"], num_updates)
    return average.apply(variables)


def make(spec):
    """An optimizer; strings are names that the estimators know."""
    if not isinstance(spec, dict):
        return spec
    arguments = {key: value for key, value in spec.items() if key != "type"}
    if "learning_rate" in arguments:
        arguments["learning_rate"] = rate(arguments["learning_rate"])
    if spec["type"] in KERAS:
        return getattr(tf.keras.optimizers.legacy, spec["type"])(**arguments)
    clip = arguments.pop("clip_by_global_norm", None)
    averages = arguments.pop("exponential_moving_average", None)
    if clip is None and averages is None:
        return getattr(V1.train, spec["type"])(**arguments)
    return Wrapped.of(spec["type"], arguments, clip, averages)


def is_keras(spec):
    return not isinstance(spec, dict) or spec["type"] in KERAS


def lazy(spec):
    """What an estimator's constructor takes; schedules need the graph that is not there yet."""
    return (lambda: make(spec)) if isinstance(spec, dict) else spec
