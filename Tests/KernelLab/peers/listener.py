"""Somebody who records what is on the air while two devices pair, and works out the key of a legacy pairing from that alone.

    listen             begins anew
    undo [COUNT]       the key with which a legacy pairing that was heard has encrypted its link, in hexadecimal, tried with so
                       many passkeys, from 0 on; without any: as Just Works has it. Nothing where it isn't found
    ciphered           the keys with which the emulated controllers have encrypted links since, in hexadecimal: what is to be
                       compared with that. On a real air nobody could hear them
    overheard          all that was said by the Security Manager, in hexadecimal
"""

from __future__ import annotations

import asyncio
import struct

from bumble import crypto, ll
from bumble.hci import Address

SMP_CHANNEL = 0x0006
REQUEST, RESPONSE, CONFIRM, RANDOM, PUBLIC_KEY = 0x01, 0x02, 0x03, 0x04, 0x0C


class Listener:
    def __init__(self, link):
        self.link = link
        link.listener = self
        self.begin()

    def begin(self) -> None:
        # Who said what, in order: the address of the sender, and the PDU.
        self.said: list[tuple[Address, Address, bytes]] = []
        self.keys: list[bytes] = []

    def hear(self, sender: Address, receiver: Address, data: bytes) -> None:
        length, channel = struct.unpack_from("<HH", data)
        if channel == SMP_CHANNEL and len(data) == length + 4:
            self.said.append((sender, receiver, bytes(data[4:])))

    def hear_control(self, packet) -> None:
        if isinstance(packet, ll.EncReq):
            self.keys.append(bytes(packet.ltk))

    def undo(self, count: int) -> bytes | None:
        """As somebody does who has heard the confirm values and the random numbers that they were made of."""
        requests = [(sender, receiver, pdu) for sender, receiver, pdu in self.said if pdu[0] == REQUEST]
        if not requests or any(pdu[0] == PUBLIC_KEY for _, _, pdu in self.said):
            return None
        central, peripheral, request = requests[-1]
        first = {(pdu[0], sender == central): pdu for sender, _, pdu in self.said}
        response, confirm = first[RESPONSE, False], first[CONFIRM, True][1:]
        ours, theirs = first[RANDOM, True][1:], first[RANDOM, False][1:]
        place = (request, response, int(central.is_random), int(peripheral.is_random), bytes(central), bytes(peripheral))
        for passkey in range(count or 1):
            temporary = passkey.to_bytes(16, "little")
            if crypto.c1(temporary, ours, *place) == confirm:
                return crypto.s1(temporary, theirs, ours)
        return None

    def commands(self) -> dict:
        async def listen() -> None:
            self.begin()

        async def undo(count: str = "0") -> str:
            # Beside what the controllers have to do meanwhile.
            found = await asyncio.to_thread(self.undo, int(count))
            return found.hex() if found else ""

        async def ciphered() -> str:
            return ",".join(key.hex() for key in self.keys)

        async def overheard() -> str:
            return ",".join(pdu.hex() for _, _, pdu in self.said)

        return {"listen": listen, "undo": undo, "ciphered": ciphered, "overheard": overheard}
