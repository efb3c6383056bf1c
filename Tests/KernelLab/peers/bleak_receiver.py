"""bleak as the central: subscribes to the C peripheral of the speed bench, and says what came.

    python -m peers.bleak_receiver ADDRESS COUNT

Says `ready` once bluetoothd answers, and at last one line of JSON with `received`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakClient, BleakScanner  # noqa: E402

NOTIFYING = "0000a001-0000-1000-8000-00805f9b34fb"
QUIET = 10  # seconds without a value, after which no more will come


async def bluetoothd_is_there() -> None:
    for _ in range(60):
        try:
            async with BleakScanner():
                return
        except Exception:
            await asyncio.sleep(1)
    raise SystemExit("bluetoothd does not answer")


async def main(address: str, count: int) -> None:
    await bluetoothd_is_there()
    print("ready", flush=True)
    # btvirt shows an advertiser once in a scan, and not in every one.
    for _ in range(5):
        device = await BleakScanner.find_device_by_address(address, timeout=15)
        if device is not None:
            break
    else:
        raise SystemExit("the peripheral was not found")
    numbers: list[int] = []
    last = begin = work = 0.0

    def take(_, value: bytearray) -> None:
        nonlocal last
        last = time.monotonic()
        numbers.append(int.from_bytes(value[:4], "little"))

    async with BleakClient(device, timeout=60) as client:
        begin, work = time.monotonic(), time.process_time()
        await client.start_notify(NOTIFYING, take)
        last = time.monotonic()
        while time.monotonic() - last < QUIET and len(numbers) < count:
            await asyncio.sleep(0.5)
        spent = time.process_time() - work
    seconds = max(last - begin, 1e-9)
    received = len(numbers)
    print(
        json.dumps(
            {
                "received": received,
                "of": count,
                "inOrder": numbers == sorted(set(numbers)),
                "rate": round(received / seconds),
                "processorMicroseconds": round(spent / max(received, 1) * 1e6, 1),
            }
        ),
        flush=True,
    )


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
