"""Records with Bumble's snooper what Bumble's central has with Bumble's peripheral, on Bumble's link: no kernel, no radio.

    python record_with_bumble.py FILE     (Bumble 0.0.236, Apache License 2.0; `pip install bumble`)

The central scans, connects, discovers, reads, subscribes to two characteristics, writes commands that are answered by
notifications, and disconnects.
"""

from __future__ import annotations

import asyncio
import struct
import sys

from bumble.controller import Controller
from bumble.core import UUID, AdvertisingData
from bumble.device import Device, Peer
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.snoop import BtSnooper

COMMAND = UUID("7A1C0101-5F2B-4C8E-9D3A-6B70E14F2C55")
ANSWER = UUID("7A1C0102-5F2B-4C8E-9D3A-6B70E14F2C55")
COMMANDS = [b"version", b"serial number", b"measure"]


def device(link: LocalLink, name: str, address: str) -> Device:
    host = Host()
    controller = Controller(name, host_source=host, host_sink=host, link=link)
    host.set_packet_sink(controller)
    controller.host = host
    return Device(name=name, address=Address(address), host=host)


def serve(sensor: Device) -> Characteristic:
    properties = Characteristic.Properties
    heart_rate = Characteristic("2A37", properties.NOTIFY, Characteristic.READABLE, b"")
    location = Characteristic("2A38", properties.READ, Characteristic.READABLE, b"\x01")
    answers = Characteristic(ANSWER, properties.NOTIFY, Characteristic.READABLE, b"")

    async def answer(value: bytes) -> None:
        for part in (value.upper(), b"ok"):
            await asyncio.sleep(0.02)
            await sensor.notify_subscribers(answers, part)

    def command(_connection, value) -> None:
        tasks.add(asyncio.get_running_loop().create_task(answer(bytes(value))))

    tasks: set[asyncio.Task] = set()
    access = properties.WRITE | properties.WRITE_WITHOUT_RESPONSE
    commands = Characteristic(COMMAND, access, Characteristic.WRITEABLE, CharacteristicValue(write=command))
    sensor.add_services(
        [
            Service("180D", [heart_rate, location]),
            Service("7A1C0100-5F2B-4C8E-9D3A-6B70E14F2C55", [commands, answers]),
        ]
    )
    return heart_rate


async def main(file: str) -> None:
    link = LocalLink()
    sensor, phone = device(link, "Sensor", "C4:F2:17:1A:1D:C1"), device(link, "Phone", "E4:F2:17:1A:1D:C2")
    heart_rate = serve(sensor)
    with open(file, "wb") as output:
        phone.host.snooper = BtSnooper(output)
        await sensor.power_on()
        await phone.power_on()
        services = bytes(AdvertisingData([(AdvertisingData.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, b"\x0d\x18")]))
        sensor.advertising_data = b"\x02\x01\x06" + services
        await sensor.start_advertising(auto_restart=True, advertising_interval_min=100, advertising_interval_max=100)
        await phone.start_scanning(legacy=True)
        await asyncio.sleep(0.5)
        await phone.stop_scanning(legacy=True)
        connection = await phone.connect(sensor.random_address)
        peer = Peer(connection)
        await peer.request_mtu(247)
        await peer.discover_all()
        found = {characteristic.uuid: characteristic for characteristic in peer.get_characteristics_by_uuid(COMMAND)}
        found |= {c.uuid: c for service in peer.services for c in service.characteristics}
        await found[UUID("2A38")].read_value()
        await found[UUID("2A37")].subscribe(lambda value: None)
        for beats in range(60, 66):
            await sensor.notify_subscribers(heart_rate, struct.pack("<BB", 0, beats))
            await asyncio.sleep(0.1)
        await found[ANSWER].subscribe(lambda value: None)
        for value in COMMANDS:
            await found[COMMAND].write_value(value, with_response=value != COMMANDS[-1])
            await asyncio.sleep(0.2)
        await connection.disconnect()
        await asyncio.sleep(0.1)


asyncio.run(main(sys.argv[1]))
