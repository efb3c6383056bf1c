"""bleak's scanner and its links on one adapter of bluetoothd's, as a program uses them that does both."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable

sys.path.insert(0, os.environ["LAB_CACHE"] + "/bleak")

from bleak import BleakClient, BleakScanner  # noqa: E402
from bleak.exc import BleakError  # noqa: E402

PATIENCE = 60  # seconds for a link
FAILURES = (BleakError, TimeoutError, EOFError)


class Radio:
    """Scans, but for the times in which it connects: during a discovery the kernel needs up to ten seconds for a link,
    until the controller reports the device again. Links are made one at a time, as bluetoothd wants it."""

    def __init__(self, adapter: str, take: Callable):
        self.take = take
        self.scanner = BleakScanner(self.hear, bluez={"adapter": adapter})
        self.devices: dict[str, asyncio.Future] = {}
        self.waiting, self.is_scanning = 0, False
        self.one = asyncio.Lock()
        self.switch = asyncio.Lock()

    async def __aenter__(self) -> Radio:
        await self.settle()
        return self

    async def __aexit__(self, *error) -> None:
        self.waiting += 1
        await self.settle()

    async def settle(self) -> None:
        """Scans if nobody waits for a link."""
        async with self.switch:
            if self.is_scanning and self.waiting:
                await self.scanner.stop()
                self.is_scanning = False
            elif not self.is_scanning and not self.waiting:
                await self.scanner.start()
                self.is_scanning = True

    def device(self, address: str) -> asyncio.Future:
        return self.devices.setdefault(address, asyncio.get_running_loop().create_future())

    def hear(self, device, data) -> None:
        if not (future := self.device(device.address)).done():
            future.set_result(device)
        self.take(device, data)

    async def connect(self, address: str, lost: Callable | None = None) -> BleakClient:
        """A link, and the services of the device, once it was heard."""
        device = await self.device(address)
        client = BleakClient(device, disconnected_callback=lost, timeout=PATIENCE)
        async with self.silence(), self.one:
            try:
                await client.connect()
            except FAILURES:
                # bluetoothd forgets who isn't heard for a while: then it is heard as a new one.
                del self.devices[address]
                raise
        return client

    @contextlib.asynccontextmanager
    async def silence(self):
        self.waiting += 1
        try:
            await self.settle()
            yield
        finally:
            self.waiting -= 1
            await self.settle()
