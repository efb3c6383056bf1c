"""bleak as the central: subscribes to the C peripheral of the speed bench, and says what came and what it cost.

    python -m peers.bleak_receiver ADAPTER ADDRESS COUNT RUNS NAME=PID ...

Says `ready` once bluetoothd answers. Then it subscribes in each of the two ways that bleak has, in turns and over a new
link each time, and says one line of JSON for each: its `run`, such as `StartNotify 1`, how many values it `received`,
and the `processorMicroseconds` of one value by the process that spent them, its own and those of the daemons named.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakClient, BleakScanner  # noqa: E402
from bleak.exc import BleakError  # noqa: E402

NOTIFYING = "0000a001-0000-1000-8000-00805f9b34fb"
TRIES = 5
QUIET = 10  # seconds without a value, after which no more will come
# What bluetoothd is asked for, and what makes bleak ask for it: the first is what it does by itself.
WAYS = {"StartNotify": True, "AcquireNotify": False}


async def bluetoothd_is_there(**radio) -> None:
    for _ in range(60):
        try:
            async with BleakScanner(**radio):
                return
        except Exception:
            await asyncio.sleep(1)
    raise SystemExit("bluetoothd does not answer")


async def find(address: str, **radio):
    # btvirt shows an advertiser once in a scan, and not in every one.
    for _ in range(TRIES):
        if device := await BleakScanner.find_device_by_address(address, timeout=15, **radio):
            return device
    raise SystemExit("the peripheral was not found")


async def connect(address: str, **radio) -> BleakClient:
    # Where bluetoothd has the socket before the kernel's event of the link, it doesn't tell that the device is
    # connected, and bleak gives it up.
    for _ in range(TRIES):
        client = BleakClient(await find(address, **radio), timeout=60)
        try:
            await client.connect()
            return client
        except BleakError as error:
            print(f"once more: {error}", flush=True)
    raise SystemExit("bleak did not connect")


def processor_seconds(process: int) -> float:
    """User and system time of a process so far. The name in its second field may contain anything but the last `)`."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Reception:
    """The values of one subscription, until all are there or no more come."""

    def __init__(self, count: int):
        self.count = count
        self.numbers: list[int] = []
        self.begin = self.last = 0.0
        self.complete = asyncio.Event()

    def take(self, _, value: bytearray) -> None:
        self.last = time.monotonic()
        if not self.numbers:
            self.begin = self.last
        self.numbers.append(int.from_bytes(value[:4], "little"))
        if len(self.numbers) == self.count:
            self.complete.set()

    async def wait(self) -> None:
        self.last = time.monotonic()
        while not self.complete.is_set() and (left := self.last + QUIET - time.monotonic()) > 0:
            try:
                await asyncio.wait_for(self.complete.wait(), left)
            except TimeoutError:
                pass

    def facts(self, spent: dict[str, float]) -> dict:
        received = len(self.numbers)
        return {
            "received": received,
            "of": self.count,
            "inOrder": self.numbers == sorted(set(self.numbers)),
            "rate": round(received / max(self.last - self.begin, 1e-9)),
            "processorMicroseconds": {
                name: round(seconds / max(received, 1) * 1e6, 2) for name, seconds in spent.items()
            },
        }


async def receive(client: BleakClient, way: str, count: int, processes: dict[str, int]) -> dict:
    reception = Reception(count)
    before = {name: processor_seconds(process) for name, process in processes.items()}
    await client.start_notify(NOTIFYING, reception.take, bluez={"use_start_notify": WAYS[way]})
    await reception.wait()
    return reception.facts({name: processor_seconds(process) - before[name] for name, process in processes.items()})


async def main(adapter: str, address: str, count: str, runs: str, *daemons: str) -> None:
    # Without a name bleak takes any powered adapter, from a set: in every other run the peripheral's own.
    radio = {"bluez": {"adapter": adapter}}
    processes = {"bleak": os.getpid()} | {name: int(process) for name, process in (pair.split("=") for pair in daemons)}
    await bluetoothd_is_there(**radio)
    print("ready", flush=True)
    for run in range(int(runs)):
        for way in WAYS:
            client = await connect(address, **radio)
            try:
                facts = await receive(client, way, int(count), processes)
            finally:
                await client.disconnect()
            print(json.dumps({"run": f"{way} {run + 1}"} | facts), flush=True)


asyncio.run(main(*sys.argv[1:]))
