"""TFRecords of images drawn at random, of raw bytes: what a training step's bench reads."""

import random
import struct


def crc_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


TABLE = crc_table()


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def varint(number):
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def field(number, data):
    """A length-delimited field of a protobuf message."""
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def feature(name, value):
    return field(1, field(1, name) + field(2, value))


def write(path, side, count):
    """`count` tf.Examples with image_raw (side x side x 3 bytes) and label (below 1000)."""
    draw = random.Random(1)
    with open(path, "wb") as file:
        for _ in range(count):
            image = feature(b"image_raw", field(1, field(1, draw.randbytes(side * side * 3))))
            label = feature(b"label", field(3, field(1, varint(draw.randrange(1000)))))
            example = field(1, image + label)
            size = struct.pack("<Q", len(example))
            file.write(
                size + struct.pack("<I", masked_crc32c(size)) + example + struct.pack("<I", masked_crc32c(example))
            )
