"""Uploads an image to a device with MCUmgr, with the package smpclient, which is bleak over bluetoothd.

    python -m peers.smpclient_updater ADDRESS FILE

Says `uploaded` when the device has all of it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["LAB_CACHE"] + "/smpclient")

from smpclient import SMPClient  # noqa: E402
from smpclient.transport.ble import SMPBLETransport  # noqa: E402

PATIENCE = 120


async def main(address: str, path: str) -> None:
    client = SMPClient(SMPBLETransport(), address)
    await client.connect(PATIENCE)
    async for _ in client.upload(Path(path).read_bytes(), subsequent_timeout_s=PATIENCE):
        pass
    print("uploaded", flush=True)
    await client.disconnect()


asyncio.run(main(*sys.argv[1:]))
