"""What a central sends that means no good: ATT PDUs of chance, in an order that a seed decides."""

from __future__ import annotations

import asyncio
import random

from bumble.att import ATT_CID

REQUESTS = [0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20]
COMMANDS = [0x52, 0xD2]
# Of these a server answers none: what a server sends, and a confirmation.
UNANSWERED = {*range(0x01, 0x15, 2), 0x17, 0x19, 0x1B, 0x1D, 0x1E, 0x21, 0x23}
COMMAND_FLAG = 0x40
ERROR = 0x01
PATIENCE = 60


def pdus(seed: int, count: int):
    """So many PDUs, none of them empty: half of them look like something, the others are what chance makes."""
    chance = random.Random(seed)
    for _ in range(count):
        if chance.random() < 0.5:
            yield chance.randbytes(chance.choice([1, 2, 3, 5, 7, 20, 64, 240]))
            continue
        opcode = chance.choice(REQUESTS + COMMANDS)
        handle = chance.randrange(0, 40).to_bytes(2, "little")
        last = chance.choice([b"\xff\xff", handle, chance.randbytes(2)])
        kind = chance.choice([b"\x00\x28", b"\x01\x28", b"\x03\x28", b"\x02\x29", chance.randbytes(16)])
        value = chance.randbytes(chance.randrange(0, 40))
        parameters = {
            0x02: chance.randrange(0, 600).to_bytes(2, "little"),
            0x04: handle + last,
            0x06: handle + last + kind[:2] + value,
            0x08: handle + last + kind,
            0x0A: handle,
            0x0C: handle + chance.randrange(0, 600).to_bytes(2, "little"),
            0x10: handle + last + kind,
            0x16: handle + chance.randrange(0, 600).to_bytes(2, "little") + value,
            0x18: bytes([chance.randrange(0, 3)]),
        }.get(opcode, handle + value)
        # One in ten ends too early.
        yield bytes([opcode]) + (parameters[: chance.randrange(0, len(parameters) + 1)] if chance.random() < 0.1 else parameters)


def is_answered(pdu: bytes) -> bool:
    return pdu[0] not in UNANSWERED and not pdu[0] & COMMAND_FLAG


class Storm:
    """Sends them on links of one central, each request after the answer to the last; where the server drops the link, on
    the next one."""

    def __init__(self, central, address: str):
        self.central, self.address = central, address
        self.counts = {"sent": 0, "answered": 0, "errors": 0, "drops": 0, "unanswered": 0}
        self.answer: asyncio.Future | None = None

    async def connect(self) -> None:
        await self.central.greet(self.address)
        channels = self.central.device.l2cap_channel_manager
        self.former = channels.fixed_channels[ATT_CID]
        channels.register_fixed_channel(ATT_CID, self.take)

    def take(self, connection, pdu: bytes) -> None:
        """An Error Response, or what is no notification and no request of the server's own."""
        if pdu and pdu[0] & 1 and pdu[0] not in (0x1B, 0x1D, 0x23) and self.answer and not self.answer.done():
            self.answer.set_result(pdu[0] == ERROR)

    async def send(self, pdu: bytes) -> None:
        central = self.central
        self.answer = asyncio.get_running_loop().create_future() if is_answered(pdu) else None
        central.device.send_l2cap_pdu(central.connection.handle, ATT_CID, pdu)
        self.counts["sent"] += 1
        if self.answer is None:
            return
        gone = asyncio.ensure_future(central.gone.wait())
        await asyncio.wait([self.answer, gone], timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if self.answer.done():
            self.counts["answered"] += 1
            self.counts["errors"] += self.answer.result()
        elif not central.gone.is_set():
            self.counts["unanswered"] += 1

    def calm(self) -> None:
        self.central.device.l2cap_channel_manager.register_fixed_channel(ATT_CID, self.former)

    async def rage(self, seed: int, count: int) -> str:
        await self.connect()
        try:
            for pdu in pdus(seed, count):
                if self.central.gone.is_set():
                    self.calm()
                    self.counts["drops"] += 1
                    await self.connect()
                await self.send(pdu)
        finally:
            self.calm()
        await self.central.leave()
        return " ".join(f"{name}={count}" for name, count in self.counts.items())
