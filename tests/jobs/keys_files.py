"""The files that the jobs of tests/jobs/keys.py read."""

import gzip
import os
import pathlib
import sqlite3
import struct
import zipfile

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "testdata/images"


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def field(number, data):
    """A length-delimited field of a protocol buffer, of up to 16383 bytes."""
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def example(features):
    """A tf.Example of bytes, whole numbers from 0 to 127, or floats."""
    entries = b""
    for name, values in features.items():
        if isinstance(values[0], bytes):
            feature = field(1, b"".join(field(1, value) for value in values))
        elif isinstance(values[0], int):
            feature = field(3, field(1, bytes(values)))
        else:
            feature = field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def tfrecord(records):
    out = b""
    for record in records:
        size = struct.pack("<Q", len(record))
        out += size + struct.pack("<I", crc32c(size)) + record + struct.pack("<I", crc32c(record))
    return out


def npy(descr, shape, elements):
    """An array as numpy.save writes it."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + elements


def write_files(folder):
    """What the jobs read."""

    def write(name, data):
        with open(f"{folder}/{name}", "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)

    rows = range(8)
    write("table.csv", "y,a,b\n" + "".join(f"{i % 2},{i * 0.5},{i * i % 7 if i != 3 else 'NA'}\n" for i in rows))
    write("semicolons.csv", '"y";a;b\n' + "".join(f'{i % 2};"{i * 0.5}";{i}\n' for i in rows))
    write("more.csv", "y,a,b\n" + "".join(f"{i % 2},{i},{i}\n" for i in rows))
    write(
        "late.csv", "y,a,b\n" + "".join(f"{i % 2},{i if i < 3 else i + 0.5},{i if i < 5 else 'word'}\n" for i in rows)
    )
    write("wordy.csv", "y,a,b\n" + "".join(f"{i % 2},{i + 0.5},{i if i != 5 else 'word'}\n" for i in rows))
    write("bare.csv", "".join(f"{i % 2},{i * 0.5},{i}\n" for i in rows))
    for name in ("denses.h5", "denses.keras"):
        packed = os.path.join(os.path.dirname(__file__), "../testdata/keras", f"k212_{name}.gz")
        with gzip.open(packed) as file:
            write(name, file.read())
    write("words.txt", "red\ngreen\nblue\n")
    write("words2.txt", "green\nblue\nred\n")
    write("ids.txt", "2\n0\n1\n")
    write("other_words.txt", "green\nblue\nred\nblack\n")
    write("summaries.yaml", "predict: {predict_keys: [logits]}\n")
    records = [
        example(
            {
                "raw": [bytes([i, 9 - i, 2 * i, 1])],
                "more": [bytes([i, 1, 4, 2])],
                "y": [i % 3],
                "z": [i * 0.5, 1.0, 2.0, i * 0.25],
                "ids": list(range(1 + i % 3)),
                "zz": [1.0, i * 0.5],
                "idz": [i % 4, 1],
                "wordz": [[b"blue", b"green"][i % 2]],
                "words": [b"red", b"blue"][: 1 + i % 2],
                "word": [[b"red", b"green", b"pink"][i % 3]],
            }
        )
        for i in rows
    ]
    write("table.tfrecord", tfrecord(records))

    def lists(i):
        given = {"y": [i % 3], "v": [i + 0.5, 2.5], "v2": [1.5, i + 0.25], "ix": [i % 4, 4], "ix2": [5, i % 3]}
        return given if i == 5 else {**given, "s": [1.0 + i] * (2 + 2 * (i % 2)), "s2": [2.0 - i] * 4}

    write("lists.tfrecord", tfrecord([example(lists(i)) for i in rows]))

    def sequence(i):
        steps = b"".join(field(1, field(2, field(1, struct.pack("<2f", i, step)))) for step in range(1 + i % 3))
        return example({"y": [i % 3], "y2": [(i + 1) % 3]}) + field(
            2, b"".join(field(1, field(1, name) + field(2, steps)) for name in (b"s", b"s2")[: 2 if i != 5 else 0])
        )

    write("sequences.tfrecord", tfrecord([sequence(i) for i in rows]))
    for name, order in (("", rows), ("other_", rows[::-1])):
        database = sqlite3.connect(f"{folder}/{name}table.db")
        database.execute("CREATE TABLE t (a REAL, b INTEGER, y INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", [(i * 0.5, i * i % 7, i % 2) for i in order])
        database.commit()
        database.close()
    write("other.tfrecord", tfrecord(records[::-1]))
    write("table.tfrecord.gz", gzip.compress(tfrecord(records), mtime=0))
    jpegs = [(IMAGES / name).read_bytes() for name in ["baseline.jpg", "full.jpg", "progressive.jpg", "gray.jpg"]]
    write(
        "images.tfrecord",
        tfrecord([example({"file": [jpegs[i % 4]], "other": [jpegs[(i + 1) % 4]], "y": [i % 3]}) for i in rows]),
    )
    for i, name in enumerate(["rgb.png", "baseline.jpg", "gray.png", "full.jpg", "palette.png", "progressive.jpg"]):
        os.makedirs(f"{folder}/pets/{'ab'[i % 2]}", exist_ok=True)
        write(f"pets/{'ab'[i % 2]}/{i}{name[-4:]}", (IMAGES / name).read_bytes())
        os.makedirs(f"{folder}/other_pets/{'ab'[i // 3]}", exist_ok=True)
        write(f"other_pets/{'ab'[i // 3]}/{i}{name[-4:]}", (IMAGES / name).read_bytes())
    os.makedirs(f"{folder}/single/a")
    write("single/a/0.png", (IMAGES / "rgb.png").read_bytes())
    os.makedirs(f"{folder}/strays")
    write("strays/6.png", (IMAGES / "rgba.png").read_bytes())
    os.symlink("../../strays", f"{folder}/pets/a/strays")
    for name, order in (("", rows), ("other_", rows[::-1])):
        write(f"{name}lines.txt", "".join(f"line {i * i}\n" for i in order))
        write(
            f"{name}rows.jsonl",
            "".join(f'{{"y": {i % 2}, "a": {i * 0.5}, "b": {i * i % 7 + 0.5 if i != 3 else "null"}}}\n' for i in order),
        )
        write(
            f"{name}rows.svm", "".join(f"{i * 0.5} {i % 3 + 1}:{i + 1} {i % 4 + 4}:{i * i % 5 + 0.5}\n" for i in order)
        )
        write(f"{name}rows.svm.weight", "".join(f"{i % 3 + 1}\n" for i in order))
        write(f"{name}records.bin", b"h" + bytes(i * j % 11 for i in order for j in range(1, 5)) + b"end")
        arrays = {
            "x": npy("<f4", (8, 2), struct.pack("<16f", *(i * j for i in order for j in (0.25, 0.5)))),
            "y": npy("<i4", (8,), struct.pack("<8i", *(i % 3 for i in order))),
        }
        for array, content in arrays.items():
            write(f"{name}{array}.npy", content)
        with zipfile.ZipFile(f"{folder}/{name}arrays.npz", "w") as archive:
            archive.writestr(
                zipfile.ZipInfo("x.npy"),
                npy("<f4", (8, 2), struct.pack("<16f", *(i * j for i in order for j in (0.1, 0.3)))),
            )
            for array, more in (("y", 0), ("z", 1)):
                archive.writestr(
                    zipfile.ZipInfo(f"{array}.npy"),
                    npy("<i4", (8,), struct.pack("<8i", *((i + more) % 3 for i in order))),
                )
    write("late.jsonl", "".join(f'{{"y": {i % 2}, "a": {i if i < 3 else i + 0.5}}}\n' for i in rows))
    write("lines.txt.gz", gzip.compress(b"a\nb\nc\n", mtime=0))
    write("images.idx", struct.pack(">4I", 0x803, 8, 2, 2) + bytes(range(32)))
    write("other_images.idx", struct.pack(">4I", 0x803, 8, 2, 2) + bytes(range(32, 64)))
    write("labels.idx", struct.pack(">2I", 0x801, 8) + bytes(i % 3 for i in rows))
    write("other_labels.idx", struct.pack(">2I", 0x801, 8) + bytes(i % 2 for i in rows))
