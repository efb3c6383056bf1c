"""What `ble-gateway` does, with bleak over bluetoothd and paho-mqtt: each notification, decoded, and advertisements that
are deduplicated by address, payload and window go to a broker as JSON, with QoS 1.

    python -m peers.bleak_gateway ADAPTER PORT PREFIX WINDOW ADDRESS…

Says `subscribed ADDRESS` for each, and connects again when a link is lost.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

from lab import names
from peers.bleak_radio import FAILURES, Radio

sys.path.insert(0, os.environ["LAB_CACHE"] + "/paho")

from paho.mqtt.client import CallbackAPIVersion, Client  # noqa: E402

UUID = names.full(names.HEART_RATE_MEASUREMENT)
PAUSE = 0.5  # seconds


class Broker:
    def __init__(self, port: str, prefix: str):
        self.prefix = prefix
        self.client = Client(CallbackAPIVersion.VERSION2, client_id="bleak-gateway")
        self.client.connect("127.0.0.1", int(port))
        self.client.loop_start()

    def publish(self, topic: str, **members) -> None:
        self.client.publish(f"{self.prefix}/{topic}", json.dumps(members), qos=1)


class Advertisements:
    """Publishes each once in a window."""

    def __init__(self, broker: Broker, window: str):
        self.broker = broker
        self.window = float(window)
        self.published: dict[tuple, float] = {}

    def take(self, device, data) -> None:
        now = time.monotonic()
        company = tuple(data.manufacturer_data.items())
        key = (device.address, data.local_name, company, tuple(data.service_data.items()), tuple(data.service_uuids))
        if now < self.published.get(key, now):
            return
        self.published[key] = now + self.window
        self.broker.publish(
            f"advertisement/{device.address}",
            address=device.address,
            name=data.local_name,
            rssi=data.rssi,
            services=data.service_uuids,
            company={number: octets.hex() for number, octets in company},
            time=time.time(),
        )


def decoded(value: bytes) -> dict:
    """A heart rate measurement; the other fields are not there."""
    rate = int.from_bytes(value[1:3], "little") if value[0] & 1 else value[1]
    return {"beatsPerMinute": rate}


class Follower:
    """Follows one peripheral."""

    def __init__(self, address: str, broker: Broker, radio: Radio):
        self.address = address
        self.broker = broker
        self.radio = radio

    def take(self, characteristic, value: bytearray) -> None:
        self.broker.publish(
            f"value/{self.address}/2A37",
            peripheral=self.address,
            characteristic="2A37",
            value=value.hex(),
            decoded=decoded(value),
            time=time.time(),
        )

    async def run(self) -> None:
        while True:
            try:
                await self.follow()
            except FAILURES as error:
                print(f"once more: {self.address}: {type(error).__name__} {error}", flush=True)
                await asyncio.sleep(PAUSE)

    async def follow(self) -> None:
        lost = asyncio.Event()
        client = await self.radio.connect(self.address, lambda _: lost.set())
        try:
            await client.start_notify(UUID, self.take)
            print(f"subscribed {self.address}", flush=True)
            await lost.wait()
            print(f"lost {self.address}", flush=True)
        finally:
            await client.disconnect()


async def main(adapter: str, port: str, prefix: str, window: str, *addresses: str) -> None:
    broker = Broker(port, prefix)
    async with Radio(adapter, Advertisements(broker, window).take) as radio, asyncio.TaskGroup() as followers:
        for address in addresses:
            followers.create_task(Follower(address, broker, radio).run())


asyncio.run(main(*sys.argv[1:]))
