"""Compares what two builds left, byte for byte, but for moments and speeds.

What is left out stands in IN_TEXT, IN_NAMES and steady, and nowhere else.
"""

import collections
import os
import re
import struct

RATES = {b"global_step/sec", b"examples/sec"}

SPOKEN = r"^printed/|/\.tpuest/log\.txt$"
TIMELINE = r"/timeline-\d+\.json$"
# (files, what differs between two runs of one program there, what stands for it). The files are those
# whose path the first expression finds.
IN_TEXT = [
    (re.compile(where), re.compile(what, re.M), put)
    for where, what, put in [
        (SPOKEN, r"(global_step/sec|examples/sec): [-+.e0-9]+$", r"\1: RATE"),
        (SPOKEN, r" \([0-9.]+ sec\)$", " (SECONDS sec)"),
        (SPOKEN, r"(Inference Time) : [0-9.]+s$", r"\1 : SECONDS"),
        (SPOKEN, r"((Starting|Finished) evaluation at) [-0-9]+[T-][:0-9]+$", r"\1 MOMENT"),
        (SPOKEN, r"/1\d{9}\b", "/EXPORT"),
        # When an op runs in a timeline, and on which thread.
        (TIMELINE, r'"(ts|dur|tid)":[.0-9]+', r'"\1":CHANCE'),
        (TIMELINE, r'^.*"name":"thread_name".*\n', ""),
        (r"/log\.txt$", r"^[-0-9]+T[:0-9]+Z ", "MOMENT "),
        # Where two exports come in one second the later one waits for the next.
        (SPOKEN, r"^(MOMENT warning|warning:) Directory [^ ]* already exists; retrying .*\n", ""),
        (r"/metrics\.jsonl$", r'"(examples_per_sec|input_wait|time)":[-+.e0-9]+', r'"\1":RATE'),
        (r"/run\.json$", r'^  "(start|end)": [.0-9]+,$', r'  "\1": MOMENT,'),
    ]
]

# Seconds in names of exports and event files: they are numbered in their order.
IN_NAMES = [
    (re.compile(what), put)
    for what, put in [(r"^1\d{9}$", "EXPORT"), (r"(?<=^events\.out\.tfevents\.)1\d{9}(?=\.)", "SECONDS")]
]

KINDS = [
    (re.compile(where), kind)
    for where, kind in [
        (r"^printed/", "streams printed"),
        (r"/events\.out\.tfevents\.", "event files"),
        (r"/export/", "files of exports"),
        (r"/(model\.ckpt[^/]*|checkpoint)$", "files of checkpoints"),
        (r"", "other files"),
    ]
]

TEXT = re.compile(r"^printed/|\.(json|jsonl|txt|yaml|tsv|csv|mlir|pbtxt)$|/checkpoint$")


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data, begin, end):
    """(number, start, begin, end) of the fields of a protocol buffer; values lie from begin to end."""
    at = begin
    while at < end:
        start = at
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            _, after = varint(data, at)
        elif wire == 2:
            size, at = varint(data, at)
            after = at + size
        else:
            after = at + {1: 8, 5: 4}[wire]
        yield key >> 3, start, at, after
        at = after


def spans(data, message, *path):
    """Where the values lie that a path of field numbers leads to."""
    found = [message]
    for wanted in path:
        found = [(begin, end) for outer in found for number, _, begin, end in fields(data, *outer) if number == wanted]
    return found


def values(data, message, *path):
    return [data[begin:end] for begin, end in spans(data, message, *path)]


def hparams_of(event, *path):
    """Where a path of HParamsPluginData leads to, in an Event of TensorBoard's HParams plugin."""
    return [
        span
        for plugin in spans(event, (0, len(event)), 5, 1, 9, 1)
        if values(event, plugin, 1) == [b"hparams"]
        for span in spans(event, plugin, 2, *path)
    ]


def times_of(event):
    """Where an Event has moments and speeds: wall_time, a rate's value, a session's start and end."""
    whole = (0, len(event))
    rates = [
        span
        for value in spans(event, whole, 5, 1)
        if set(values(event, value, 1)) & RATES
        for span in spans(event, value, 2)
    ]
    return [*spans(event, whole, 1), *rates, *hparams_of(event, 3, 5), *hparams_of(event, 4, 2)]


def steady(event):
    """An Event with zeros for its times_of, and a session's hparams, a map, in order.

    Protocol buffers write a map in an order that differs from process to process.
    """
    out = bytearray(event)
    for begin, end in times_of(event):
        out[begin:end] = bytes(end - begin)
    for begin, end in hparams_of(event, 3):
        entries = [(start, after) for number, start, _, after in fields(event, begin, end) if number == 1]
        if entries:
            out[entries[0][0] : entries[-1][1]] = b"".join(sorted(event[a:b] for a, b in entries))
    return bytes(out)


def crc32c_table():
    table = list(range(256))
    for _ in range(8):
        table = [crc >> 1 ^ (0x82F63B78 if crc & 1 else 0) for crc in table]
    return table


CRC32C = crc32c_table()


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records of a TFRecord file; one that is damaged ends it, as what it is."""
    at = 0
    while at < len(data):
        head, body = data[at : at + 12], at + 12
        size, crc = struct.unpack("<QI", head) if len(head) == 12 else (len(data), 0)
        record, foot = data[body : body + size], data[body + size : body + size + 4]
        if crc != masked_crc32c(head[:8]) or foot != struct.pack("<I", masked_crc32c(record)):
            yield b"damaged: " + data[at:]
            return
        yield record
        at = body + size + 4


def event_place(event):
    whole = (0, len(event))
    steps = [varint(event, begin)[0] for begin, _ in spans(event, whole, 2)]
    tags = [tag.decode(errors="replace") for tag in values(event, whole, 5, 1, 1)]
    return "".join([*(f", step {step}" for step in steps), *(f", {tag}" for tag in tags[:3])])


def shortened(text):
    return text if len(text) <= 160 else text[:157] + "..."


def first_difference(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def bytes_differ(one, other):
    """(place, before, after) where two contents part."""
    at = first_difference(one, other)
    sizes = "" if len(one) == len(other) else f" of {len(one)} and {len(other)}"
    begin = max(0, at - 8)
    return f"byte {at}{sizes}", repr(one[begin : at + 32]), repr(other[begin : at + 32])


def text_differs(one, other):
    before, after = one.split("\n"), other.split("\n")
    line = first_difference(before, after)
    begin = 0
    if line < min(len(before), len(after)):
        begin = max(0, first_difference(before[line], after[line]) - 40)
    return (
        f"line {line + 1}",
        *(shortened(lines[line][begin:]) if line < len(lines) else "(ends)" for lines in (before, after)),
    )


def events_differ(one, other):
    for number, (a, b) in enumerate(zip(one, other)):
        if a != b:
            place, before, after = bytes_differ(a, b)
            return f"record {number}{event_place(a)}: {place}", before, after
    at = min(len(one), len(other))
    return (
        f"record {at}",
        *(f"step, tags: {event_place(events[at])}" if at < len(events) else "(ends)" for events in (one, other)),
    )


def labelled(folder):
    """Each file and folder below a folder, as (the name without moments, its path)."""

    def walk(path, label):
        seen = collections.Counter()
        for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
            name = entry.name
            for what, put in IN_NAMES:
                if what.search(name):
                    seen[put] += 1
                    name = what.sub(f"{put}-{seen[put]}", name)
            if entry.is_dir(follow_symlinks=False):
                yield f"{label}{name}/", None
                yield from walk(entry.path, f"{label}{name}/")
            else:
                yield label + name, entry.path

    return dict(walk(folder, ""))


def text_of(label, data):
    text = data.decode(errors="backslashreplace")
    for where, what, put in IN_TEXT:
        if where.search(label):
            text = what.sub(put, text)
    return "\n".join(sorted(text.split("\n"))) if re.search(TIMELINE, label) else text


class Comparison:
    def __init__(self, before, after):
        self.counts = collections.Counter()
        self.differences = []  # (file, place, before, after)
        self.folders = labelled(before), labelled(after)
        for label in dict.fromkeys([*self.folders[0], *self.folders[1]]):
            self.compare(label)

    def compare(self, label):
        if not all(label in folder for folder in self.folders):
            self.differences.append(
                (label, "", *("there" if label in folder else "not there" for folder in self.folders))
            )
        elif not label.endswith("/"):
            self.counts[next(kind for where, kind in KINDS if where.search(label))] += 1
            found = self.files_differ(label, *(self.content(folder[label]) for folder in self.folders))
            if found:
                self.differences.append((label, *found))

    def content(self, path):
        if os.path.islink(path):
            return b"-> " + os.readlink(path).encode()
        with open(path, "rb") as file:
            return file.read()

    def files_differ(self, label, one, other):
        """(place, before, after), or None."""
        if "tfevents" in label:
            one, other = ([steady(event) for event in records(data)] for data in (one, other))
            self.counts["events"] += len(one)
            return events_differ(one, other) if one != other else None
        if one == other:
            return None
        if TEXT.search(label):
            one, other = text_of(label, one), text_of(label, other)
            return text_differs(one, other) if one != other else None
        return bytes_differ(one, other)
