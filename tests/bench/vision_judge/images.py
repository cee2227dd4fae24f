"""Checks 20 to 23: images read, resized, listed and drawn as TensorFlow does."""

import pathlib
import shutil
import signal
import subprocess
import time

import numpy as np
import tensorflow as tf
from program import Case, counted, same

TESTDATA = pathlib.Path(__file__).resolve().parents[2] / "testdata" / "images"


def pixels(here, input_fn, shape, *more, batch=8):
    """The column image [shape] of every record of an input_fn: what a model that is one layer, flatten, predicts."""
    size = int(np.prod(shape))
    here.write_job(
        {
            "version": 1,
            "name": "images",
            "use_tpu": False,
            "train_batch_size": batch,
            "predict_batch_size": batch,
            "run_config": {"model_dir": "run", "tf_random_seed": 1},
            "input_fns": {"test": {"features": ["image"], "repeat": 1, "drop_remainder": False, **input_fn}},
            "model": {
                "type": "Sequential",
                "layers": [{"type": "flatten"}],
                "head": {"type": "RegressionHead", "label_dimension": size},
            },
            "predict": {"input_fn": "test"},
            "tpuest": {"fsync": False},
        }
    )
    return here.predictions(*more)["predictions"].reshape(-1, *shape)


def drawn(height, width, channels, seed):
    """Smooth, with edges and noise: what JPEG has to do with."""
    rng = np.random.RandomState(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [
        127
        + 90 * np.sin(x / rng.uniform(3, 30) + rng.rand() * 6) * np.cos(y / rng.uniform(3, 30))
        + 60 * (x * rng.randn() + y * rng.randn() > 10 * rng.randn())
        + 8 * rng.randn(height, width)
        for _ in range(channels)
    ]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_records(here, files):
    with tf.io.TFRecordWriter(str(here.folder / "images.tfrecord")) as writer:
        for content in files:
            writer.write(
                tf.train.Example(
                    features=tf.train.Features(
                        feature={"image/encoded": tf.train.Feature(bytes_list=tf.train.BytesList(value=[content]))}
                    )
                ).SerializeToString()
            )


def records_input(*ops):
    return {
        "source": {"type": "TFRecordDataset", "filenames": ["images.tfrecord"]},
        "parse_example": {"image/encoded": {"type": "FixedLenFeature", "shape": [], "dtype": "string"}},
        "map": list(ops),
    }


DECODE = {"op": "decode_image", "in": "image/encoded", "out": "image", "channels": 3}
FLOAT = {"op": "cast", "in": "image", "dtype": "float32"}


def resize(height, width, method="bilinear", **more):
    return {"op": "resize", "in": "image", "size": [height, width], "method": method, **more}


def jpegs(height, width, count):
    return [
        tf.io.encode_jpeg(
            drawn(height, width, 1 if i % 8 == 7 else 3, i),
            quality=50 + i * 50 // count,
            progressive=i % 3 == 1,
            chroma_downsampling=i % 2 == 0,
        ).numpy()
        for i in range(count)
    ]


def decode_there(content):
    return tf.io.decode_image(content, channels=3, expand_animations=False)


def check_20(here):
    """64 drawn JPEG files, photographs, PNG and BMP: the bytes of tf.io.decode_image.

    JPEG of qualities 50 to 100, baseline and progressive, gray and colour, with and without smaller chroma; the photographs
    of --photographs; PNG of 8 and 16 bits and the suite's files of every other kind (palettes, interlaced, alpha, CMYK, BMP
    of 24 and 32 bits, GIF). The same as three channels, sizes among them."""
    files = {f"jpeg {i}": content for i, content in enumerate(jpegs(61, 83, 64))}
    for channels in (1, 2, 3, 4):
        files[f"png {channels}"] = tf.io.encode_png(drawn(61, 83, channels, 100 + channels)).numpy()
        files[f"png16 {channels}"] = tf.io.encode_png(drawn(61, 83, channels, 9).astype(np.uint16) * 257).numpy()
    folders = [TESTDATA, *([pathlib.Path(here.options.photographs)] if here.options.photographs else [])]
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix.lower() in (".jpg", ".jpeg", ".png", ".bmp", ".gif"):
                files[path.name] = path.read_bytes()
    differ, compared = [], 0
    by_shape = {}
    for name, content in files.items():
        try:
            theirs = decode_there(content).numpy()
        except tf.errors.InvalidArgumentError:
            continue  # the suite has damaged ones
        by_shape.setdefault(theirs.shape, []).append((name, content, theirs))
    for shape, of_shape in by_shape.items():
        write_records(here, [content for _, content, _ in of_shape])
        ours = pixels(here, records_input(DECODE, resize(*shape[:2], "nearest"), FLOAT), shape)
        compared += len(of_shape)
        differ += [name for (name, _, theirs), image in zip(of_shape, ours) if not np.array_equal(image, theirs)]
    yield counted(f"files {differ[:3]}" if differ else "files", compared, len(differ))


SIZES = [
    ((31, 47), (64, 64)),
    ((64, 64), (31, 47)),
    ((50, 70), (50, 70)),
    ((90, 20), (33, 77)),
    ((7, 5), (40, 3)),
    ((120, 160), (17, 23)),
]


def check_21(here):
    """Resizing by all methods of tf.image.resize, three with antialias, and version 1's bicubic; six pairs of sizes:
    equal to the bit."""
    for size, to in SIZES:
        files = jpegs(*size, 3)
        write_records(here, files)
        for method in (
            "bilinear",
            "nearest",
            "bicubic",
            "area",
            "lanczos3",
            "lanczos5",
            "gaussian",
            "mitchellcubic",
            "bilinear antialias",
            "bicubic antialias",
            "lanczos3 antialias",
            "bicubic v1",
        ):
            name, *word = method.split()
            old, smooth = word == ["v1"], word == ["antialias"]
            ours = pixels(
                here,
                records_input(DECODE, resize(*to, name, half_pixel_centers=not old, antialias=smooth), FLOAT),
                (*to, 3),
            )
            differ = 0
            for image, content in zip(ours, files):
                decoded = decode_there(content)
                theirs = (
                    tf.compat.v1.image.resize_bicubic(decoded[None], to)[0]
                    if old
                    else tf.image.resize(decoded, to, method=name, antialias=smooth)
                )
                differ += not np.array_equal(image, tf.cast(theirs, tf.float32).numpy())
            yield counted(f"{method} {size} to {to}", len(files), differ)


def draw_pets(here, classes):
    """A folder of files of one gray each, some a folder deeper, with what is no image beside them."""
    shutil.rmtree(here.folder / "pets", ignore_errors=True)
    gray = 0
    for name, count in classes:
        for i in range(count):
            gray += 9
            path = here.folder / "pets" / name / ("deep" if i % 4 == 3 else "") / f"{i}.{['jpg', 'PNG', 'jpeg'][i % 3]}"
            write(path, tf.io.encode_png(np.full((12, 16, 3), gray, np.uint8)).numpy())
    write(here.folder / "pets/.hidden/0.jpg", b"")
    write(here.folder / f"pets/{classes[0][0]}/notes.txt", b"")


def folder_case(here, seed, mode, subset):
    how = {
        "label_mode": mode,
        "image_size": (9, 11),
        "validation_split": 0.2,
        "subset": subset,
        "seed": seed,
        "crop_to_aspect_ratio": seed == 0,
    }
    keras = tf.keras.utils.image_dataset_from_directory(here.folder / "pets", batch_size=1, shuffle=True, **how)
    theirs = [int(tf.io.decode_image(tf.io.read_file(path), channels=3).numpy()[0, 0, 0]) for path in keras.file_paths]
    labels = {int(image.numpy().flat[0]): label.numpy().reshape(-1).tolist() for image, label in keras}
    source = {"type": "image_dataset_from_directory", "directory": "pets", **how, "image_size": [9, 11]}
    ours = pixels(here, {"source": source}, (9, 11, 3))[:, 0, 0, 0].astype(int).tolist()
    title = f"seed {seed}, {mode}, {subset}, {len(theirs)} files"
    yield same(f"{title}: files", ours == theirs)
    width = len(next(iter(labels.values())))
    given = pixels(
        here,
        {
            "source": source,
            "features": ["label"],
            "map": [{"op": "cast", "in": "label", "dtype": "float32"}, {"op": "reshape", "in": "label", "shape": [-1]}],
        },
        (width,),
    ).tolist()
    yield same(f"{title}: labels", given == [[float(v) for v in labels[value]] for value in ours])


def check_22(here):
    """image_dataset_from_directory: classes, labels in three modes and the files of both parts for seeds 0, 123, 1337.

    Equal to Keras' file_paths and labels. 24 files of four classes (10 9 Cat dog, in the order of bytes); 20 and 4 of them
    for a split of 0.2."""
    four = [("dog", 9), ("Cat", 8), ("10", 4), ("9", 3)]
    for seed in (0, 123, 1337):
        for mode, classes in (("int", four), ("categorical", four), ("binary", four[:2])):
            draw_pets(here, classes)
            for subset in ("training", "validation"):
                yield from folder_case(here, seed, mode, subset)


# ---- check 23 ------------------------------------------------------------------------------------------------------

BOX = {"min_object_covered": 0.1, "aspect_ratio_range": [0.75, 4 / 3], "area_range": [0.08, 1.0], "max_attempts": 10}
AUGMENT = [
    {"op": "decode_and_crop_jpeg_random", "in": "image/encoded", "out": "image", **BOX},
    resize(24, 24, "bicubic"),
    {"op": "random_flip_left_right", "in": "image"},
    {"op": "random_brightness", "in": "image", "max_delta": 20.0},
    {"op": "random_contrast", "in": "image", "lower": 0.5, "upper": 1.5},
    FLOAT,
]


def evaluation_crop(content, size=224, padding=32):
    """What tensorflow/tpu's ResNet does to evaluate."""
    shape = tf.image.extract_jpeg_shape(content)
    height, width = shape[0], shape[1]
    side = tf.cast(size / (size + padding) * tf.cast(tf.minimum(height, width), tf.float32), tf.int32)
    window = tf.stack([((height - side) + 1) // 2, ((width - side) + 1) // 2, side, side])
    image = tf.image.decode_and_crop_jpeg(content, window, channels=3)
    return tf.compat.v1.image.resize_bicubic([image], [size, size])[0].numpy()


def check_23(here):
    """Augmentations: the same bytes for 1 to 3 workers and threads, other batches, killed and resumed; crops as drawn there.

    Of 10,000 crops area and ratio lie within their ranges, and the mean area is TensorFlow's to a hundredth; 20
    evaluation crops are those of tensorflow/tpu's code to the bit."""
    files = [content for i in range(20) for content in jpegs(60 + 7 * i, 140 - 3 * i, 1)]
    write_records(here, files)
    augmented = records_input(*AUGMENT)
    first = pixels(here, {**augmented, "num_parallel_calls": 1}, (24, 24, 3), "--threads", "1")
    for workers, threads, batch in ((2, 1, 8), (3, 3, 8), (1, 2, 3), (2, 3, 20)):
        again = pixels(
            here, {**augmented, "num_parallel_calls": workers}, (24, 24, 3), "--threads", threads, batch=batch
        )
        yield same(f"{workers} workers, {threads} threads, batches of {batch}", np.array_equal(first, again))
    yield from killed_and_resumed(here, augmented)
    yield from drawn_crops(here)
    files = [content for i in range(20) for content in jpegs(180 + 13 * i, 400 - 9 * i, 1)]
    write_records(here, files)
    ours = pixels(
        here,
        records_input(
            {"op": "decode_and_center_crop_jpeg", "in": "image/encoded", "out": "image"},
            resize(224, 224, "bicubic", half_pixel_centers=False),
        ),
        (224, 224, 3),
    )
    differ = sum(not np.array_equal(image, evaluation_crop(content)) for image, content in zip(ours, files))
    yield counted("evaluation crops", len(files), differ)


def killed_and_resumed(here, augmented):
    """A run on augmented images in one piece, and one that SIGKILL ends at several moments: the same last checkpoint."""
    rows = {
        **augmented,
        "features": ["image"],
        "labels": "label",
        "repeat": -1,
        "shuffle": {"buffer_size": "full"},
        "map": [*augmented["map"], {"op": "rescaling", "in": "image", "scale": 1 / 255}],
    }
    rows["parse_example"] = {
        **rows["parse_example"],
        "label": {"type": "FixedLenFeature", "shape": [1], "dtype": "float32", "default_value": 1.0},
    }
    job = {
        "version": 1,
        "name": "killed",
        "use_tpu": False,
        "train_batch_size": 8,
        "run_config": {"model_dir": "whole", "tf_random_seed": 1, "save_checkpoints_steps": 20},
        "input_fns": {"train": rows},
        "model": {
            "type": "Sequential",
            "layers": [{"type": "flatten"}, {"type": "dense", "units": 1}],
            "head": {"type": "RegressionHead"},
        },
        "optimizer": {"type": "GradientDescentOptimizer", "learning_rate": 1e-4},
        "train_spec": {"input_fn": "train", "max_steps": 400},
        "tpuest": {"fsync": False},
    }
    here.write_job(job)
    here.run("train", "job.yaml")
    here.write_job({**job, "run_config": {**job["run_config"], "model_dir": "killed"}})
    kills = 0
    for wait in (0.1, 0.15, 0.2, 0.3, 0.4):
        child = subprocess.Popen(
            [here.program, "train", "job.yaml"], cwd=here.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        kills += child.wait() == -signal.SIGKILL
    here.run("train", "job.yaml")
    ends = [(here.folder / run / "model.ckpt-400.data-00000-of-00001").read_bytes() for run in ("whole", "killed")]
    yield same(f"killed {kills} times and resumed", ends[0] == ends[1])


def drawn_crops(here):
    """Colours that are the pixel's place tell where a crop was: two samples a side are half of it apart."""
    count, height, width = 10_000, 200, 250
    y, x = np.mgrid[0:height, 0:width]
    write_records(here, [tf.io.encode_png(np.stack([y, x, 0 * x], -1).astype(np.uint8)).numpy()] * count)
    seen = pixels(
        here,
        records_input(
            DECODE, {"op": "sample_distorted_bounding_box", "in": "image", **BOX}, resize(2, 2, "nearest"), FLOAT
        ),
        (2, 2, 3),
    )
    heights = 2 * (seen[:, 1, 0, 0] - seen[:, 0, 0, 0])
    widths = 2 * (seen[:, 0, 1, 1] - seen[:, 0, 0, 1])
    # A sample stands within a pixel of its place, a side's length within two.
    low = np.maximum(heights - 2, 0) * np.maximum(widths - 2, 0) > height * width
    high = (heights + 2) * (widths + 2) < 0.08 * height * width
    flat = (heights > 10) & ((widths + 2) / (heights - 2) < 0.75) | ((widths - 2) / (heights + 2) > 4 / 3)
    whole = (heights >= height - 2) & (widths >= width - 2)  # where none of the attempts fits
    yield counted("crops within their ranges", count, int(np.sum((low | high | flat) & ~whole)))

    @tf.function
    def sample(_):
        _, size, _ = tf.image.sample_distorted_bounding_box(
            [height, width, 3], tf.zeros([1, 0, 4]), **BOX, use_image_if_no_bounding_boxes=True
        )
        return tf.cast(size[0] * size[1], tf.float32)

    theirs = float(tf.reduce_mean(tf.map_fn(sample, tf.range(4 * count), fn_output_signature=tf.float32)))
    ours = float(np.mean(heights * widths))
    yield Case(f"mean area {ours:.5g}, TensorFlow's {theirs:.5g}", abs(ours / theirs - 1), 0.01)
