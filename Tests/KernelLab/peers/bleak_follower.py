"""bleak as a central that follows a number, and connects again whenever the link is lost, which bleak leaves to programs.

    python -m peers.bleak_follower ADAPTER ADDRESS UUID

Says `subscribed` after each subscription, `lost` at the end of each link, and `number N` for each that comes.
"""

from __future__ import annotations

import asyncio
import os
import sys

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakClient, BleakScanner  # noqa: E402
from bleak.exc import BleakError  # noqa: E402


async def follow(address: str, uuid: str, radio: dict) -> None:
    device = await BleakScanner.find_device_by_address(address, timeout=15, **radio)
    if not device:
        return print("not found", flush=True)
    lost = asyncio.Event()
    async with BleakClient(device, disconnected_callback=lambda _: lost.set(), timeout=30) as client:
        await client.start_notify(
            uuid, lambda _, value: print(f"number {int.from_bytes(value, 'little')}", flush=True)
        )
        print("subscribed", flush=True)
        await lost.wait()
        print("lost", flush=True)


async def main(adapter: str, address: str, uuid: str) -> None:
    while True:
        try:
            await follow(address, uuid, {"bluez": {"adapter": adapter}})
        except (BleakError, TimeoutError, EOFError) as error:
            print(f"once more: {type(error).__name__} {error}", flush=True)
            await asyncio.sleep(0.5)


asyncio.run(main(*sys.argv[1:]))
