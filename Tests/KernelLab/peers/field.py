"""Sensors for a long time beside other programs, and the kernel adapter that hears them.

    python -m peers.field SOCKET

`ours` and `theirs` notify a number four times a second to whoever subscribed, and count only those;
`other` has something to read on an encrypted link only; `visitor` advertises under one address after another.
Says `ready adapter=hciN`, then of each `sensor`: `connected`, `encrypted`, `subscribed on=1|0`, and at the end of a link
`disconnected reason=… last=N`, where N is the last number that has left. Commands:

    sent SENSOR          how many numbers it has sent
    hush                 no more numbers; answers when the last one has left
    drop SENSOR REASON   disconnect as the peripheral; `lose SENSOR` breaks the link without a word
    forget SENSOR        loses the keys of every bond
    visit ADDRESS        the visitor advertises under that address; `leave` ends it
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import struct
import sys

from bumble import hci
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, Service
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from lab import names
from peers import air
from peers.control import Control

ADVERTISING_MS = 100
BEAT_SECONDS = 0.25
Properties = Characteristic.Properties


class Sensor:
    """Like a sensor without buttons: Just Works, and the keys are kept."""

    def __init__(self, link: air.Link, name: str, address: str, control: Control):
        self.link, self.name, self.control = link, name, control
        configuration = DeviceConfiguration()
        configuration.name = name
        configuration.address = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        configuration.irk = hashlib.md5(address.encode()).digest()
        self.device = Device(config=configuration, host=air.bumble_host(link, name, names.NEAR_RSSI))
        delegate = PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT)
        self.device.pairing_config_factory = lambda _: PairingConfig(sc=True, mitm=False, bonding=True, delegate=delegate)
        self.numbers = Characteristic(names.NUMBERS, Properties.NOTIFY, Characteristic.READABLE, b"")
        self.numbers.on("subscription", self.on_subscription)
        protected = Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION
        secret = Characteristic(names.SECRET, Properties.READ, protected, names.SECRET_BYTES)
        self.device.add_services([Service(names.VENDOR, [self.numbers, secret])])
        self.device.on("connection", self.on_connection)
        self.subscriber = None
        self.sent = 0

    def say(self, event: str, **facts) -> None:
        self.control.say(event, sensor=self.name, **facts)

    async def start(self) -> None:
        await self.device.power_on()
        self.forget()
        kinds = AdvertisingData.Type
        uuid = UUID(names.VENDOR).to_bytes()
        self.device.advertising_data = bytes(
            AdvertisingData([(kinds.FLAGS, b"\x06"), (kinds.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, uuid)])
        )
        self.device.scan_response_data = bytes(AdvertisingData([(kinds.COMPLETE_LOCAL_NAME, self.name.encode())]))

    async def advertise(self) -> None:
        await self.device.start_advertising(
            auto_restart=True, advertising_interval_min=ADVERTISING_MS, advertising_interval_max=ADVERTISING_MS
        )

    async def rename(self, address: str) -> None:
        """Advertises under another address; nobody may be connected."""
        name = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        await self.device.stop_advertising()
        await self.device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=name))
        self.device.random_address = name
        await self.advertise()

    def forget(self) -> None:
        self.device.keystore = MemoryKeyStore()

    def on_connection(self, connection) -> None:
        self.say("connected")
        connection.on("connection_encryption_change", lambda: self.say("encrypted", on=int(connection.is_encrypted)))
        connection.on("disconnection", self.on_disconnection)

    def on_disconnection(self, reason: int) -> None:
        self.subscriber = None
        self.say("disconnected", reason=f"0x{reason:02x}", last=self.sent)

    def on_subscription(self, connection, notify: bool, _indicate: bool) -> None:
        self.subscriber = connection if notify else None
        self.say("subscribed", on=int(notify), last=self.sent)

    async def beat(self) -> None:
        """Counts what has left only: a link that goes meanwhile has not had it."""
        if connection := self.subscriber:
            await self.device.notify_subscriber(connection, self.numbers, struct.pack("<I", self.sent + 1))
            self.sent += 1
            await connection.drain()

    async def drop(self, reason: str) -> None:
        for connection in list(self.device.connections.values()):
            await connection.disconnect(int(reason, 0))

    def lose(self) -> None:
        if not self.link.lose(self.device.random_address):
            raise RuntimeError("no link to lose")


class Field:
    """The sensors, and what they are told."""

    def __init__(self, link: air.Link, control: Control):
        self.sensors = {name: Sensor(link, name, address, control) for name, address in names.FIELD.items()}
        self.beating = asyncio.Lock()
        self.hushed = False
        for command in (self.sent, self.hush, self.drop, self.lose, self.forget, self.visit, self.leave):
            control.commands[command.__name__] = command

    async def start(self) -> None:
        for name, sensor in self.sensors.items():
            await sensor.start()
            if name != "visitor":
                await sensor.advertise()

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            async with self.beating:
                if not self.hushed:
                    await asyncio.gather(*(sensor.beat() for sensor in self.sensors.values()))

    async def sent(self, name: str) -> str:
        return str(self.sensors[name].sent)

    async def hush(self) -> None:
        async with self.beating:
            self.hushed = True

    async def drop(self, name: str, reason: str) -> None:
        async with self.beating:
            await self.sensors[name].drop(reason)

    async def lose(self, name: str) -> None:
        async with self.beating:
            self.sensors[name].lose()

    async def forget(self, name: str) -> None:
        self.sensors[name].forget()

    async def visit(self, address: str) -> None:
        await self.sensors["visitor"].rename(address)

    async def leave(self) -> None:
        await self.sensors["visitor"].device.stop_advertising()


async def main(socket: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    link = air.Link()
    central = air.kernel_adapter(link, names.CENTRAL, lambda on, active: None, lambda peer: None)
    field = Field(link, control)
    await field.start()
    await control.serve(socket)
    control.say("ready", adapter=f"hci{await central.kernel.index}")
    await field.beat()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
