"""An adapter of the kernel whose controller has extended advertising, as those of Bluetooth 5 have.

    python -m peers.extended SOCKET ADDRESS

Says `ready`, then `advertising handle=… legacy=0 connectable=1 hex=…` whenever a set is switched on.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from bumble import hci

from peers import air
from peers.control import Control

CONNECTABLE, LEGACY = 1 << 0, 1 << 4
LEGACY_ROOM = 31
SETS = 5


class ExtendedController(air.AirController):
    """Bumble's extended advertising, which takes as much for a legacy set as a real controller does, and no more."""

    def __init__(self, name, control: Control, **arguments):
        super().__init__(name, **arguments)
        self.control = control
        self.le_features |= hci.LeFeatureMask.LE_EXTENDED_ADVERTISING

    def on_hci_le_set_extended_advertising_data_command(self, command):
        chosen = self.advertising_sets.get(command.advertising_handle)
        if chosen and properties(chosen) & LEGACY and len(command.advertising_data) > LEGACY_ROOM:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.INVALID_COMMAND_PARAMETERS_ERROR)
        return super().on_hci_le_set_extended_advertising_data_command(command)

    def on_hci_le_set_extended_advertising_enable_command(self, command):
        for handle in command.advertising_handles if command.enable else []:
            chosen = self.advertising_sets[handle]
            self.control.say(
                "advertising",
                handle=handle,
                legacy=int(bool(properties(chosen) & LEGACY)),
                connectable=int(bool(properties(chosen) & CONNECTABLE)),
                hex=bytes(chosen.data).hex() or "-",
            )
        return super().on_hci_le_set_extended_advertising_enable_command(command)

    def on_hci_le_read_number_of_supported_advertising_sets_command(self, command):
        answer = super().on_hci_le_read_number_of_supported_advertising_sets_command(command)
        answer.num_supported_advertising_sets = SETS
        return answer


def properties(chosen) -> int:
    return int(chosen.parameters.advertising_event_properties)


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
