"""Firmware as the boot loader MCUboot takes it."""

from __future__ import annotations

import hashlib
import random
import struct

HEADER, TRAILER = 32, 40  # octets


def image(size: int, seed: int) -> bytes:
    """An image of that size: header, body, trailer with a hash."""
    body = random.Random(seed).randbytes(size - HEADER - TRAILER)
    header = struct.pack("<IIHHIIBBHII", 0x96F3B83D, 0, HEADER, 0, len(body), 0, 1, 2, 3, 0, 0)
    return header + body + struct.pack("<HHHH", 0x6907, TRAILER, 0x10, 32) + hashlib.sha256(header + body).digest()
