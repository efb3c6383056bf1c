"""An adapter of the kernel whose controller has extended advertising, as those of Bluetooth 5 have.

    python -m peers.extended SOCKET ADDRESS

Says `ready`, then `advertising handle=… legacy=0 connectable=1 interval=MIN..MAX hex=…`, the interval in units of 625 µs,
whenever a set is switched on, and `data handle=… hex=…` when what a set says is given.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from peers import air
from peers.control import Control
from peers.zoo.bluetooth5 import CONNECTABLE, LEGACY, ExtendedAdvertising, properties

class ExtendedController(ExtendedAdvertising):
    """Says what is switched on."""

    def __init__(self, name, control: Control, **arguments):
        super().__init__(name, **arguments)
        self.control = control

    def on_hci_le_set_extended_advertising_data_command(self, command):
        self.control.say("data", handle=command.advertising_handle, hex=bytes(command.advertising_data).hex() or "-")
        return super().on_hci_le_set_extended_advertising_data_command(command)

    def on_hci_le_set_extended_advertising_enable_command(self, command):
        for handle in command.advertising_handles if command.enable else []:
            chosen = self.advertising_sets[handle]
            self.control.say(
                "advertising",
                handle=handle,
                legacy=int(bool(properties(chosen) & LEGACY)),
                connectable=int(bool(properties(chosen) & CONNECTABLE)),
                interval=self.interval(chosen.parameters),
                hex=bytes(chosen.data).hex() or "-",
            )
        return super().on_hci_le_set_extended_advertising_enable_command(command)

    @staticmethod
    def interval(parameters) -> str:
        return f"{parameters.primary_advertising_interval_min}..{parameters.primary_advertising_interval_max}"


async def main(socket: str, address: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    kernel = air.KernelHost()
    controller = ExtendedController(
        "extended", control, host_source=kernel, host_sink=kernel, link=air.Link(), public_address=f"{address}/P"
    )
    controller.kernel = kernel
    await control.serve(socket)
    control.say("ready", address=address)
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
