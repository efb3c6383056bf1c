"""habluetooth's scanner with five listeners.

    python -m peers.habluetooth_listener ADAPTER ADDRESS

Says `listening` when it scans. One of its listeners hears of all, four look for one service each.
"""

from __future__ import annotations

import asyncio
import sys

from peers.habluetooth_world import start_scanner
from peers.listened import SERVICES


async def main(adapter: str, address: str) -> None:
    manager, _ = await start_scanner(adapter, address)
    manager.async_register_bleak_callback(lambda device, data: None, {})
    for service in SERVICES:
        manager.async_register_bleak_callback(lambda device, data: None, {"UUIDs": {service}})
    print("listening", flush=True)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
