"""An adapter of the kernel whose controller can't be central and peripheral at once, as BCM43xx, CSR and RTL8761B can't;
a central that connects to it, and a sensor that it can connect to.

    python -m peers.one_role SOCKET ADDRESS

Says `ready`, `scanning` whenever the radio begins or ends to listen, `heard` for each report that the controller makes while
it filters duplicates, and what peers/central.py says, whose commands it takes; and `sensor on|off`: whether the sensor
advertises; and `crowd N`: how many sensors there are from now on.
"""

from __future__ import annotations

import asyncio
import logging
import sys

from bumble import hci, ll
from bumble.device import Device, DeviceConfiguration

from lab import names
from peers import air
from peers.central import Central, commands
from peers.control import Control
from peers.crowd import Crowd

ADDRESS = hci.Address(names.ONE_ROLE_CENTRAL, hci.Address.RANDOM_DEVICE_ADDRESS)
# Core Specification, Vol 4, Part E, 7.8.27: what a controller has not that can't have both.
INITIATING_AS_PERIPHERAL = 1 << 28
CONNECTABLE_AS_CENTRAL = 1 << 35
BEAT_SECONDS = 0.2


class OneRoleController(air.CentralController):
    """Says that it can't, and doesn't."""

    def __init__(self, name, control: Control, **arguments):
        def on_scanning(on: int, active: int) -> None:
            control.say("scanning", on=on, active=active)

        super().__init__(name, on_scanning, **arguments)
        self.control = control
        states = int.from_bytes(self.le_states, "little") & ~(INITIATING_AS_PERIPHERAL | CONNECTABLE_AS_CENTRAL)
        self.le_states = states.to_bytes(8, "little")

    def has_role(self, role: hci.Role) -> bool:
        return any(connection.role == role for connection in self.le_connections.values())

    def report(self, kind, address, data, rssi):
        super().report(kind, address, data, rssi)
        if self.filter_duplicates:
            self.control.say("heard", peer=address.to_string(with_type_qualifier=False))

    def on_ll_advertising_pdu(self, packet):
        if isinstance(packet, ll.ConnectInd):
            self.on_le_connect_ind(packet)
        else:
            super().on_ll_advertising_pdu(packet)

    def on_hci_le_create_connection_command(self, command):
        if self.has_role(hci.Role.PERIPHERAL):
            self._send_hci_command_status(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR, command.op_code)
            return None
        return super().on_hci_le_create_connection_command(command)

    def on_hci_le_set_advertising_enable_command(self, command):
        if command.advertising_enable and self.has_role(hci.Role.CENTRAL):
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        return super().on_hci_le_set_advertising_enable_command(command)


async def main(socket: str, address: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    link = air.Link()
    kernel = air.KernelHost()
    controller = OneRoleController(
        "one role",
        control,
        host_source=kernel,
        host_sink=kernel,
        link=link,
        public_address=f"{address}/P",
    )
    controller.kernel = kernel
    configuration = DeviceConfiguration()
    configuration.name, configuration.address = "Central", ADDRESS
    device = Device(config=configuration, host=air.bumble_central(link, configuration.name))
    await device.power_on()
    control.commands |= commands([Central(0, device, control)])
    sensors = Crowd(link)
    await sensors.grow("1")
    advertises = asyncio.Event()
    advertises.set()

    async def sensor(state: str) -> None:
        advertises.set() if state == "on" else advertises.clear()

    control.commands["sensor"] = sensor
    control.commands["crowd"] = sensors.grow
    await control.serve(socket)
    control.say("ready", address=address)
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        await advertises.wait()
        await sensors.beat()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
