"""What a client does with devices, whoever lends it the radio: it listens, or reads over several links.

    … listen                   says `listening`; for each SIGUSR1 `heard` with a line of JSON
    … read UUID TIMES ADDRESS…  connects to all, and reads so often: on the first link, and on all in turns. Says
                               `linked N ADDRESS` for each, `ready`, and for each SIGUSR1 `read` with a line of JSON
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time

from bleak.exc import BleakError

TRIES = 3  # for a link
PATIENCE = 60  # seconds for a link
LONGEST = 60  # seconds for all reads of a kind


class Heard:
    """What a client was given of advertisements."""

    def __init__(self):
        self.reports = 0
        self.devices: set[str] = set()

    def take(self, device, data) -> None:
        self.reports += 1
        self.devices.add(device.address)

    def facts(self) -> dict:
        return {"reports": self.reports, "devices": len(self.devices)}


async def signals():
    """A SIGUSR1 at a time."""
    asked = asyncio.Queue()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, asked.put_nowait, None)
    while True:
        yield await asked.get()


async def listen(facts) -> None:
    print("listening", flush=True)
    async for _ in signals():
        print("heard", json.dumps(facts()), flush=True)


async def link(connect, address: str):
    """A client that is connected, or None."""
    for _ in range(TRIES):
        try:
            async with asyncio.timeout(PATIENCE):
                return await connect(address)
        except (BleakError, TimeoutError, EOFError) as error:
            print(f"once more: {address}: {type(error).__name__} {error}", flush=True)


async def read(connect, uuid: str, times: str, *addresses: str) -> None:
    clients = []
    for address in addresses:
        begin = time.monotonic()
        if client := await link(connect, address):
            clients.append(client)
            print(f"linked {len(clients)} {address} {time.monotonic() - begin:.3f}", flush=True)
        else:
            print(f"given up {address}", flush=True)
    print("ready", flush=True)
    async for _ in signals():
        facts = {"one": await times_of(clients[:1], uuid, int(times)), "all": await times_of(clients, uuid, int(times))}
        print("read", json.dumps(facts | {"links": sum(client.is_connected for client in clients)}), flush=True)


async def times_of(clients: list, uuid: str, times: int) -> list[float | None]:
    """The milliseconds of each read, as many as there is time for; None for one that failed, or had no answer by then."""
    figures: list[float | None] = []
    end = time.monotonic() + LONGEST
    while len(figures) < times and (begin := time.monotonic()) < end:
        try:
            async with asyncio.timeout(end - begin):
                await clients[len(figures) % len(clients)].read_gatt_char(uuid)
            figures.append(round((time.monotonic() - begin) * 1e3, 2))
        except (BleakError, TimeoutError, EOFError) as error:
            print(f"not read: {type(error).__name__} {error}", flush=True)
            figures.append(None)
    return figures


async def act(facts, connect, what: str, *words: str) -> None:
    """Does what the command line says. `facts` are those of what was heard; `connect` makes a link to an address."""
    await (listen(facts) if what == "listen" else read(connect, *words))
