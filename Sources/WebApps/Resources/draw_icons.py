#!/usr/bin/env python3
"""Draws the icons of the apps as PNG, in the sizes that phones ask for: draw_icons.py, in the repository's root."""
import struct
import zlib

SIZES = [("icon-180.png", 180, True), ("icon-192.png", 192, False), ("icon-512.png", 512, False), ("icon-maskable.png", 512, True)]
APPS = [("Plugins/Apptimist/Web", (31, 95, 208), "lock"), ("Plugins/Msgr/Web", (14, 116, 92), "lines")]


def rounded(x, y, left, top, right, bottom, radius):
    """The distance of a point from a rectangle with round corners; below 0 inside."""
    dx = max(left + radius - x, x - (right - radius), 0)
    dy = max(top + radius - y, y - (bottom - radius), 0)
    if dx == 0 and dy == 0:
        return -1.0 if min(x - left, right - x, y - top, bottom - y) >= 1 else -min(x - left, right - x, y - top, bottom - y)
    return (dx * dx + dy * dy) ** 0.5 - radius


def bubble(x, y):
    body = rounded(x, y, 108, 146, 404, 338, 36)
    # The tail: a triangle from the body's lower edge.
    tail = max(180 - x, y - 402 + (x - 180) * 64 / 78, 330 - y)
    return min(body, tail)


def sign(x, y, kind):
    if kind == "lines":
        return min(rounded(x, y, 160, 196, 352, 222, 13), rounded(x, y, 160, 252, 296, 278, 13))
    ring = max(rounded(x, y, 218, 184, 294, 300, 38), -rounded(x, y, 238, 204, 274, 320, 18), y - 240)
    return min(rounded(x, y, 208, 232, 304, 302, 8), ring)


def picture(size, is_full, color, kind):
    scale = 512 / size
    # Masks cut the edge: what matters stands within four fifths.
    shrink = 1.15 if is_full and size == 512 else 1.0
    rows = []
    for row in range(size):
        line = bytearray([0])
        for column in range(size):
            x, y = (column + 0.5) * scale, (row + 0.5) * scale
            covered = 1.0 if is_full else min(1, max(0, 0.5 - rounded(x, y, 0, 0, 512, 512, 112) / scale))
            x, y = 256 + (x - 256) * shrink, 256 + (y - 256) * shrink
            white = min(1, max(0, 0.5 - bubble(x, y) / scale)) * (1 - min(1, max(0, 0.5 - sign(x, y, kind) / scale)))
            line += bytes(round(part + (255 - part) * white) for part in color) + bytes([round(255 * covered)])
        rows.append(bytes(line))
    return b"".join(rows)


def write(path, size, data):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", size, size, 8, 6, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b""))


for folder, color, kind in APPS:
    for name, size, is_full in SIZES:
        write(f"{folder}/{name}", size, picture(size, is_full, color, kind))
