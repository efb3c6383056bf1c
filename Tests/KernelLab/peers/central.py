"""Bumble as centrals.

    python -m peers.central SOCKET ADAPTER...       each on an adapter that is powered off, which it has to itself
    python -m peers.central SOCKET air ADDRESS      two on an air of their own, with an adapter of the kernel at ADDRESS

Says `ready`, then `notified central=N uuid=… hex=…` for each value that comes. Commands, N counts the adapters from 0:

    connect N ADDRESS       connects to a public address, negotiates the MTU, discovers; answers with the MTU
    open N ADDRESS          connects, and asks for nothing; `discover N` asks then
    tree N                  services, characteristics and their properties as JSON
    read N UUID             the whole value in hexadecimal
    write N UUID HEX        with response
    command N UUID HEX      without response
    flood N UUID COUNT      so many values of four octets, without response, as fast as the server reads them
    subscribe N UUID        notifications; `indicate N UUID` for indications
    disconnect N
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from bumble.core import UUID, PhysicalTransport
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.hci import Address
from bumble.transport import open_transport

from lab import names
from peers import air
from peers.control import Control


class Central:
    def __init__(self, number: int, device: Device, control: Control):
        self.number, self.device, self.control = number, device, control
        self.connection = None
        self.peer = None

    async def open(self, address: str) -> None:
        self.connection = await self.device.connect(f"{address}/P", transport=PhysicalTransport.LE)
        self.connection.on("disconnection", lambda reason: self.say("disconnected", reason=f"0x{reason:02x}"))

    async def connect(self, address: str) -> str:
        await self.open(address)
        return await self.discover()

    async def discover(self) -> str:
        self.peer = Peer(self.connection)
        mtu = await self.peer.request_mtu(517)
        await self.peer.discover_services()
        for service in self.peer.services:
            await service.discover_characteristics()
        return str(mtu)

    def say(self, event: str, **facts) -> None:
        self.control.say(event, central=self.number, **facts)

    def find(self, uuid: str):
        found = self.peer.get_characteristics_by_uuid(UUID(uuid))
        if not found:
            raise LookupError(uuid)
        return found[0]

    def tree(self) -> str:
        return json.dumps(
            {
                names.full(str(service.uuid.to_hex_str("-"))): {
                    names.full(str(c.uuid.to_hex_str("-"))): int(c.properties) for c in service.characteristics
                }
                for service in self.peer.services
            }
        )

    async def read(self, uuid: str) -> str:
        return bytes(await self.find(uuid).read_value()).hex()

    async def write(self, uuid: str, value: str, with_response: bool) -> None:
        await self.find(uuid).write_value(bytes.fromhex(value), with_response=with_response)

    async def flood(self, uuid: str, count: str) -> None:
        found, name = self.find(uuid), self.find("2A00")
        for number in range(int(count)):
            await found.write_value(number.to_bytes(4, "big"), with_response=False)
            # The kernel drops what its queue has no room for. A server answers this by itself, behind what came before.
            if number % 100 == 99:
                await name.read_value()

    async def subscribe(self, uuid: str, prefer_notify: bool) -> None:
        characteristic = self.find(uuid)
        await characteristic.discover_descriptors()
        await characteristic.subscribe(
            lambda value: self.say("notified", uuid=names.full(uuid), hex=bytes(value).hex() or "-"),
            prefer_notify=prefer_notify,
        )


async def devices(adapters: list[str], kept: list):
    """The devices to be centrals; what has to live as long as they do is kept."""
    addresses = [Address(f"E0:00:00:00:00:0{number}", Address.RANDOM_DEVICE_ADDRESS) for number in range(9)]
    if adapters[0] == "air":
        link = air.Link()
        kept.append(air.kernel_peripheral(link, adapters[1]))
        for number in range(2):
            configuration = DeviceConfiguration()
            configuration.name, configuration.address = f"Central {number}", addresses[number]
            yield Device(config=configuration, host=air.bumble_central(link, configuration.name))
        return
    for number, adapter in enumerate(adapters):
        transport = await open_transport(f"hci-socket:{adapter}")
        kept.append(transport)
        yield Device.with_hci(f"Central {number}", addresses[number], transport.source, transport.sink)


async def main(socket: str, adapters: list[str]) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    centrals: list[Central] = []
    kept = []
    for number, device in enumerate([device async for device in devices(adapters, kept)]):
        await device.power_on()
        centrals.append(Central(number, device, control))

    async def disconnect(number: str) -> None:
        await centrals[int(number)].connection.disconnect()

    async def tree(number: str) -> str:
        return centrals[int(number)].tree()

    control.commands |= {
        "connect": lambda number, address: centrals[int(number)].connect(address),
        "open": lambda number, address: centrals[int(number)].open(address),
        "discover": lambda number: centrals[int(number)].discover(),
        "tree": tree,
        "read": lambda number, uuid: centrals[int(number)].read(uuid),
        "write": lambda number, uuid, value: centrals[int(number)].write(uuid, value, True),
        "command": lambda number, uuid, value: centrals[int(number)].write(uuid, value, False),
        "flood": lambda number, uuid, count: centrals[int(number)].flood(uuid, count),
        "subscribe": lambda number, uuid: centrals[int(number)].subscribe(uuid, True),
        "indicate": lambda number, uuid: centrals[int(number)].subscribe(uuid, False),
        "disconnect": disconnect,
    }
    await control.serve(socket)
    control.say("ready", centrals=len(centrals))
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
