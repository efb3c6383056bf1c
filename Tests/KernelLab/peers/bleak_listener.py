"""bleak's scanner over bluetoothd, with five listeners: one hears of all, four look for one service each.

    python -m peers.bleak_listener ADAPTER

Says `listening` when it scans. A program has one scan at a time: at the second one bluetoothd says that the operation is in
progress.
"""

from __future__ import annotations

import asyncio
import os
import sys

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakScanner  # noqa: E402

from peers.listened import SERVICES  # noqa: E402


def take(device, data) -> None:
    for service in SERVICES:
        if service in data.service_uuids:
            return


async def main(adapter: str) -> None:
    async with BleakScanner(take, bluez={"adapter": adapter}):
        print("listening", flush=True)
        await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
