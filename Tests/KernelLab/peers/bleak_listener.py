"""bleak's scanner over bluetoothd, five times: one hears of all, four look for one service each.

    python -m peers.bleak_listener ADAPTER

Says `ready` when all of them scan, and the number of callbacks after each thousand.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakScanner  # noqa: E402

from peers.listened import SERVICES  # noqa: E402


class Count:
    def __init__(self):
        self.heard = 0

    def take(self, device, data) -> None:
        self.heard += 1
        if self.heard % 1000 == 0:
            print(f"heard {self.heard}", flush=True)


async def main(adapter: str) -> None:
    radio = {"bluez": {"adapter": adapter}}
    count = Count()
    async with contextlib.AsyncExitStack() as scanners:
        for services in [None, *([service] for service in SERVICES)]:
            callback = count.take if services is None else lambda device, data: None
            await scanners.enter_async_context(BleakScanner(callback, services, **radio))
        print("ready", flush=True)
        await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
