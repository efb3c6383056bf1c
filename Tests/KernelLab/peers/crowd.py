"""Any number of plain heart rate sensors, beside the peripheral that has everything."""

from __future__ import annotations

import asyncio
import random
import time

from bumble import hci
from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, Service

from lab import names
from peers import air

ADVERTISING_MS = 100
# A value is this plus the number of the beat, which begins anew after 99.


class Crowd:
    """Each member counts its own beats, and notifies whoever subscribed to it."""

    def __init__(self, link: air.Link):
        self.link = link
        self.members: list[tuple[Device, Characteristic]] = []
        self.rate = 0

    async def grow(self, count: str) -> None:
        while len(self.members) < int(count):
            await self.add(names.crowd(len(self.members)))

    async def add(self, address: str) -> None:
        configuration = DeviceConfiguration()
        configuration.name = "Crowd"
        configuration.address = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        device = Device(config=configuration, host=air.bumble_host(self.link, address, names.NEAR_RSSI))
        beat = Characteristic(
            names.HEART_RATE_MEASUREMENT, Characteristic.Properties.NOTIFY, Characteristic.READABLE, b""
        )
        place = Characteristic(
            names.BODY_SENSOR_LOCATION, Characteristic.Properties.READ, Characteristic.READABLE, names.CROWD_LOCATION
        )
        device.add_services([Service(names.HEART_RATE, [beat, place])])
        await device.power_on()
        kinds = AdvertisingData.Type
        uuid = UUID(names.HEART_RATE).to_bytes()
        device.advertising_data = bytes(
            AdvertisingData(
                [(kinds.FLAGS, b"\x06"), (kinds.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, uuid)]
            )
        )
        await device.start_advertising(
            auto_restart=True, advertising_interval_min=ADVERTISING_MS, advertising_interval_max=ADVERTISING_MS
        )
        self.members.append((device, beat))

    async def beat(self) -> None:
        self.rate = (self.rate + 1) % 100
        for device, beat in self.members:
            await device.notify_subscribers(beat, bytes([0, names.BEAT_BASE + self.rate]))

    async def count(self, numbers: str) -> str:
        """Each member that has a subscriber notifies the numbers from 0 on, one a second, and no two at the same moment.
        Answers how many that were of all members."""
        begin, sent = time.monotonic(), 0
        for number in range(int(numbers)):
            for place, (device, beat) in enumerate(self.members):
                await asyncio.sleep(begin + number + place / len(self.members) - time.monotonic())
                sent += any(device.gatt_server.subscribers.values())
                await device.notify_subscribers(beat, b"\x01" + number.to_bytes(2, "little"))
        return str(sent)

    async def scatter(self, count: str) -> None:
        """Breaks the links of some members without a word."""
        for device, _ in random.sample(self.members, min(int(count), len(self.members))):
            self.link.lose(device.random_address)

    async def leave(self) -> None:
        for device, _ in self.members:
            await device.stop_advertising()
            for connection in list(device.connections.values()):
                await connection.disconnect()
            await device.power_off()
            # Otherwise who comes later with the same address would not be found.
            self.link.remove_controller(device.host.controller)
        self.members.clear()
