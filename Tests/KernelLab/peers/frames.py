"""What goes between the lab's peers, which run on this machine, and the guest that they are peers of: frames, in order.

A frame is its length, the number of the peer that it concerns, its kind, and its payload. Whatever a peer does outside
itself, it does in the guest: it has adapters there, control sockets, and what it prints is printed there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

HEAD = struct.Struct("<IHB")
NUMBER = struct.Struct("<H")  # of a peer's device, or of a client of its control socket; the first of a payload
MOST = 16_384  # octets of a text in one frame; a longer one takes several


class Kind(IntEnum):
    # From the guest.
    START = 1  # JSON: module, arguments, environment
    SIGNAL = 2  # a signal's number
    JOINED = 3  # a client
    LEFT = 4  # a client
    # From the peer.
    LISTEN = 10  # the path of the control socket
    OPEN = 11  # a device, and JSON: what it is, and its arguments
    CLOSE = 12  # a device
    PRINT = 13  # text
    ENDED = 14
    # Both ways.
    DEVICE = 20  # a device, and a packet
    SAID = 21  # a client, and text
    SETTLED = 22  # a number: the guest says it again when it has come to it


def frame(peer: int, kind: Kind, payload: bytes = b"") -> bytes:
    return HEAD.pack(len(payload), peer, kind) + payload


def numbered(number: int, octets: bytes = b"") -> bytes:
    return NUMBER.pack(number) + octets


def split(payload: bytes) -> tuple[int, bytes]:
    """The number of a payload, and the rest."""
    return NUMBER.unpack_from(payload)[0], payload[NUMBER.size :]


class Frames:
    """Cuts a stream into frames."""

    def __init__(self):
        self.octets = bytearray()

    def take(self, octets: bytes) -> Iterator[tuple[int, Kind, bytes]]:
        """The frames that these octets complete: the peer, the kind and the payload of each."""
        self.octets += octets
        place = 0
        while len(self.octets) >= place + HEAD.size:
            length, peer, kind = HEAD.unpack_from(self.octets, place)
            end = place + HEAD.size + length
            if len(self.octets) < end:
                break
            yield peer, Kind(kind), bytes(self.octets[place + HEAD.size : end])
            place = end
        del self.octets[:place]
