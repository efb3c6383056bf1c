"""Bumble as centrals, each on an adapter of the kernel that is powered off, which it has to itself.

    python -m peers.central SOCKET ADAPTER...

Says `ready`, then `notified central=N uuid=… hex=…` for each value that comes. Commands, N counts the adapters from 0:

    connect N ADDRESS       connects to a public address, negotiates the MTU, discovers; answers with the MTU
    tree N                  services, characteristics and their properties as JSON
    read N UUID             the whole value in hexadecimal
    write N UUID HEX        with response
    command N UUID HEX      without response
    subscribe N UUID        notifications; `indicate N UUID` for indications
    disconnect N
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys

from bumble.core import UUID, PhysicalTransport
from bumble.device import Device, Peer
from bumble.hci import Address
from bumble.transport import open_transport

from lab import names
from peers.control import Control


class Central:
    def __init__(self, number: int, device: Device, control: Control):
        self.number, self.device, self.control = number, device, control
        self.connection = None
        self.peer = None

    async def connect(self, address: str) -> str:
        self.connection = await self.device.connect(f"{address}/P", transport=PhysicalTransport.LE)
        self.connection.on("disconnection", lambda reason: self.say("disconnected", reason=f"0x{reason:02x}"))
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

    async def subscribe(self, uuid: str, prefer_notify: bool) -> None:
        characteristic = self.find(uuid)
        await characteristic.discover_descriptors()
        await characteristic.subscribe(
            lambda value: self.say("notified", uuid=names.full(uuid), hex=bytes(value).hex() or "-"),
            prefer_notify=prefer_notify,
        )


async def main(socket: str, adapters: list[str]) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    centrals: list[Central] = []
    transports = []
    for number, adapter in enumerate(adapters):
        transport = await open_transport(f"hci-socket:{adapter}")
        transports.append(transport)
        address = Address(f"E0:00:00:00:00:0{number}", Address.RANDOM_DEVICE_ADDRESS)
        device = Device.with_hci(f"Central {number}", address, transport.source, transport.sink)
        await device.power_on()
        centrals.append(Central(number, device, control))

    async def disconnect(number: str) -> None:
        await centrals[int(number)].connection.disconnect()

    async def tree(number: str) -> str:
        return centrals[int(number)].tree()

    control.commands |= {
        "connect": lambda number, address: centrals[int(number)].connect(address),
        "tree": tree,
        "read": lambda number, uuid: centrals[int(number)].read(uuid),
        "write": lambda number, uuid, value: centrals[int(number)].write(uuid, value, True),
        "command": lambda number, uuid, value: centrals[int(number)].write(uuid, value, False),
        "subscribe": lambda number, uuid: centrals[int(number)].subscribe(uuid, True),
        "indicate": lambda number, uuid: centrals[int(number)].subscribe(uuid, False),
        "disconnect": disconnect,
    }
    await control.serve(socket)
    control.say("ready", centrals=len(centrals))
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
