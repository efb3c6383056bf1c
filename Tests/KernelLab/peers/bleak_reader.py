"""Waits for a device until it is there, connects to it and reads a value, with bleak over bluetoothd.

    python -m peers.bleak_reader ADAPTER ADDRESS UUID

Says `ready` when it listens, and `value HEX`.
"""

from __future__ import annotations

import asyncio
import os
import sys

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakClient, BleakScanner  # noqa: E402
from bleak.exc import BleakError  # noqa: E402


async def main(adapter: str, address: str, uuid: str) -> None:
    radio = {"bluez": {"adapter": adapter}}
    found = asyncio.Queue()

    def take(device, data) -> None:
        if device.address == address:
            found.put_nowait(device)

    while True:
        async with BleakScanner(take, **radio):
            print("ready", flush=True)
            device = await found.get()
        try:
            async with BleakClient(device, timeout=60) as client:
                value = await client.read_gatt_char(uuid)
                print(f"value {value.hex()}", flush=True)
                return
        except BleakError as error:
            print(f"once more: {error}", flush=True)


asyncio.run(main(*sys.argv[1:]))
