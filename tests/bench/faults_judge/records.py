"""TFRecords, tf.Examples and events, as far as the judge writes and reads them."""

import struct

TABLE = []
for index in range(256):
    for _ in range(8):
        index = index >> 1 ^ (0x82F63B78 if index & 1 else 0)
    TABLE.append(index)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def framed(record):
    """A record as a TFRecord file has it: length, its checksum, bytes, their checksum."""
    length = struct.pack("<Q", len(record))
    return length + struct.pack("<I", masked_crc32c(length)) + record + struct.pack("<I", masked_crc32c(record))


def varint(number):
    out = b""
    while number > 0x7F:
        out, number = out + bytes([number & 0x7F | 0x80]), number >> 7
    return out + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values):
    """A tf.train.Feature: of bytes, floats or int64s by the type of its values."""
    if isinstance(values[0], str):
        return field(1, b"".join(field(1, value.encode()) for value in values))
    if isinstance(values[0], float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(varint(value) for value in values)))


def example(row):
    """A serialized tf.train.Example of lists by name."""
    entries = b"".join(field(1, field(1, name.encode()) + field(2, feature(values))) for name, values in row.items())
    return field(1, entries)


def records(data):
    """The whole records of a file's bytes, and whether all of it was whole. One whose bytes are not
    those of its checksum is left out."""
    found, at, damaged = [], 0, 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        end = at + 12 + length + 4
        if end > len(data) or struct.unpack_from("<I", data, at + 8)[0] != masked_crc32c(data[at : at + 8]):
            break
        record = data[at + 12 : end - 4]
        if struct.unpack_from("<I", data, end - 4)[0] == masked_crc32c(record):
            found.append(record)
        else:
            damaged += 1
        at = end
    return found, at == len(data) and not damaged


def fields(message):
    """(number, value) of each field of a serialized protocol buffer."""
    at = 0

    def take():
        nonlocal at
        number, shift = 0, 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        key = take()
        if key & 7 == 0:
            yield key >> 3, take()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or take()
        yield key >> 3, message[at : at + size]
        at += size


def event(record):
    """{step, values: {tag: bytes of the value}, starts: a session that starts} of an event."""
    step, values, starts = 0, {}, False
    for number, value in fields(record):
        if number == 2:
            step = value
        elif number == 5:
            for _, summary in fields(value):
                parts = list(fields(summary))
                tag = next((part.decode() for key, part in parts if key == 1), "")
                values[tag] = b"".join(
                    part if isinstance(part, bytes) else varint(part) for key, part in parts if key not in (1, 9)
                )
        elif number == 7:
            starts = dict(fields(value)).get(1) == 1  # SessionLog.START
    return {"step": step, "values": values, "starts": starts}
