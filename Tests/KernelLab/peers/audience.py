"""Bumble's centrals, which count what a server notifies, and Bumble's own server beside the kernel's adapter.

    python -m peers.audience SOCKET ADDRESS COUNT

So many centrals on one air with an adapter of the kernel at ADDRESS. Says `ready`. Commands:

    gather N ADDRESS UUID   N of them connect, one after the other, and subscribe; a public address, or `own` for Bumble's server
    hear COUNT              until each has so many values, or none has come for 60 s; answers with `received`, by central, `inOrder`
                            and the `seconds` from the first value of all to the last
    leave                   all links end
    blast COUNT             Bumble's server sends so many numbers to each, as fast as it can
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time

from bumble.core import UUID, PhysicalTransport
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import Characteristic, Service
from bumble.hci import Address

from lab import names
from peers import air
from peers.control import Control

OWN = "D0:00:00:00:00:01"
QUIET = 60


def device(link: air.Link, name: str, address: str, host) -> Device:
    configuration = DeviceConfiguration()
    configuration.name, configuration.address = name, Address(address, Address.RANDOM_DEVICE_ADDRESS)
    return Device(config=configuration, host=host)


class Listener:
    def __init__(self, device: Device):
        self.device, self.connection = device, None
        self.numbers: list[int] = []

    async def join(self, address: Address, uuid: str) -> None:
        self.numbers = []
        self.connection = await self.device.connect(address, transport=PhysicalTransport.LE)
        peer = Peer(self.connection)
        await peer.request_mtu(517)
        await peer.discover_services()
        for service in peer.services:
            await service.discover_characteristics()
        found = peer.get_characteristics_by_uuid(UUID(uuid))[0]
        await found.discover_descriptors()
        await found.subscribe(self.take, prefer_notify=True)

    def take(self, value: bytes) -> None:
        self.last = time.monotonic()
        if not self.numbers:
            self.first = self.last
        self.numbers.append(int.from_bytes(value[:4], "little"))


class Audience:
    def __init__(self, address: str, count: int, control: Control):
        self.link = air.Link()
        self.kernel = air.kernel_peripheral(self.link, address)
        self.listeners = [
            Listener(device(self.link, f"Central {n}", f"E0:00:00:00:01:{n:02X}", air.bumble_central(self.link, str(n))))
            for n in range(count)
        ]
        self.own = device(self.link, "Own", OWN, air.bumble_host(self.link, "own", -50))
        self.notifying = Characteristic(
            names.NUMBERS, Characteristic.Properties.NOTIFY, Characteristic.READABLE, b""
        )
        self.own.add_services([Service(names.VENDOR, [self.notifying])])
        self.here: list[Listener] = []
        for command in (self.gather, self.hear, self.leave, self.blast):
            control.commands[command.__name__] = command

    async def power_on(self) -> None:
        for one in (*self.listeners, self):
            await (one.own if one is self else one.device).power_on()
        await self.own.start_advertising(auto_restart=False)

    async def gather(self, count: str, address: str, uuid: str) -> None:
        kind = Address.RANDOM_DEVICE_ADDRESS if address == "own" else Address.PUBLIC_DEVICE_ADDRESS
        peer = Address(OWN if address == "own" else address, kind)
        self.here = self.listeners[: int(count)]
        for listener in self.here:
            await listener.join(peer, uuid)
            # A connection ends it. With `auto_restart` Bumble goes on only when that has ended, and claims to advertise meanwhile.
            if address == "own" and not self.own.is_advertising:
                await self.own.start_advertising(auto_restart=False)

    async def hear(self, count: str) -> str:
        last = time.monotonic()
        while any(len(listener.numbers) < int(count) for listener in self.here):
            newest = max((listener.last for listener in self.here if listener.numbers), default=last)
            if time.monotonic() - max(last, newest) > QUIET:
                break
            await asyncio.sleep(0.05)
        heard = [listener for listener in self.here if listener.numbers]
        span = max(one.last for one in heard) - min(one.first for one in heard) if heard else 0
        return json.dumps(
            {
                "received": [len(one.numbers) for one in self.here],
                "inOrder": all(one.numbers == sorted(set(one.numbers)) for one in self.here),
                "seconds": round(span, 3),
            },
            separators=(",", ":"),
        )

    async def leave(self) -> None:
        for listener in self.here:
            await listener.connection.disconnect()
        self.here = []

    async def blast(self, count: str) -> None:
        for number in range(int(count)):
            value = number.to_bytes(4, "little") + bytes(16)
            await self.own.notify_subscribers(self.notifying, value)
            # The air is in this process, too.
            await asyncio.sleep(0)


async def main(socket: str, address: str, count: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    audience = Audience(address, int(count), control)
    await audience.power_on()
    await control.serve(socket)
    control.say("ready", centrals=count)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
