"""Three adapters for the kernel on one air, and sensors that all can hear, each as well as a scenario wants.

    python -m peers.joined SOCKET

Says `ready` when the sensors advertise, `scanning adapter=` whenever a radio begins or ends to listen, `heard` when
`hear` is in force, `connected`, `subscribed` and `disconnected` with the sensor's number, the adapter and the value that
it sent last. An adapter is `first`, `second` or `third`. Commands on the control socket:

    reset              no links, the first two plugged in, all hear well, no limits; answers once all that is true
    deaf ADAPTER DB    how much weaker than it is the adapter hears everybody; 200 and more: not at all
    hear [ADAPTER DB]  the same for several, at the moment from which all radios listen: none hears the sensors before another can
    limit ADAPTER N    how many connections its controller manages; a further one is refused with Connection Limit Exceeded
    lose NUMBER        breaks the link of a sensor without a word
    unplug ADAPTER     takes it away; the sensors lose their links to it
    plug ADAPTER [ADDRESS] brings it back, with the same address or another one
"""

from __future__ import annotations

import asyncio
import logging
import sys

from bumble import hci

from lab import names
from peers import air
from peers.control import Control
from peers.crowd import Crowd

ADDRESSES = {"first": names.CENTRAL, "second": names.SECOND_CENTRAL, "third": names.THIRD_CENTRAL}
SENSORS = 3
BEAT_SECONDS = 0.2
UNHEARD = 200


class LimitedController(air.CentralController):
    """Hears worse than it might, and manages so many connections."""

    loss = 0
    limit: int | None = None

    def on_advertisement(self, packet, sender):
        if self.loss < UNHEARD and self.kernel.is_plugged:
            super().on_advertisement(packet, sender)

    def report(self, kind, address, data, rssi):
        super().report(kind, address, data, max(rssi - self.loss, -127))

    def on_hci_le_create_connection_command(self, command):
        if self.limit is not None and len(self.le_connections) >= self.limit:
            return self._send_hci_command_status(
                hci.HCI_ErrorCode.CONNECTION_LIMIT_EXCEEDED_ERROR, command.op_code
            )
        return super().on_hci_le_create_connection_command(command)


class Joined:
    def __init__(self, control: Control):
        self.control = control
        self.link = air.Link()
        self.crowd = Crowd(self.link)
        self.changed = asyncio.Condition()
        self.listening: dict[str, bool] = {}
        self.promised: dict[str, int] = {}
        self.adapters = {
            name: self.adapter(name, address)
            for name, address in ADDRESSES.items()
        }
        for command in (self.reset, self.deaf, self.hear, self.limit, self.lose, self.unplug, self.plug):
            control.commands[command.__name__] = command

    def adapter(self, name: str, address: str) -> LimitedController:
        def on_scanning(on: int, active: int) -> None:
            self.control.say("scanning", adapter=name, on=on, active=active)
            self.listening[name] = bool(on)
            # Once the controller has begun.
            asyncio.get_running_loop().call_soon(self.keep_promise)

        is_plugged = name != "third"
        return air.kernel_adapter(self.link, address, on_scanning, lambda peer: None, LimitedController, is_plugged)

    async def run(self) -> None:
        await self.crowd.grow(str(SENSORS))
        for number, (device, beat) in enumerate(self.crowd.members):
            device.on("connection", lambda connection, number=number: self.on_connection(number, connection))
            beat.on("subscription", lambda *facts, number=number: self.on_subscription(number, *facts))

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self.crowd.beat()

    def name(self, address: hci.Address) -> str:
        return next(name for name, one in self.adapters.items() if address == one.public_address)

    def facts(self, number: int, connection) -> dict[str, object]:
        return {"sensor": number, "adapter": self.name(connection.peer_address), "last": self.crowd.rate}

    def on_subscription(self, number: int, connection, notify: bool, _indicate: bool) -> None:
        self.control.say("subscribed", on=int(notify), **self.facts(number, connection))

    def on_connection(self, number: int, connection) -> None:
        self.control.say("connected", **self.facts(number, connection))

        async def tell() -> None:
            async with self.changed:
                self.changed.notify_all()

        def on_disconnection(reason: int) -> None:
            self.control.say("disconnected", reason=f"0x{reason:02x}", **self.facts(number, connection))
            self.task = asyncio.create_task(tell())

        connection.on("disconnection", on_disconnection)

    # Commands

    def keep_promise(self) -> None:
        plugged = [name for name, controller in self.adapters.items() if controller.kernel.is_plugged]
        if self.promised and all(self.listening.get(name) for name in plugged):
            for name, loss in self.promised.items():
                self.adapters[name].loss = loss
            self.control.say("heard", **self.promised)
            self.promised = {}

    async def reset(self) -> None:
        self.promised = {}
        for name, controller in self.adapters.items():
            controller.loss, controller.limit = 0, None
            if name == "third":
                await self.unplug(name)
            elif not controller.kernel.is_plugged:
                await self.plug(name)
        for device, _ in self.crowd.members:
            for connection in list(device.connections.values()):
                await connection.disconnect()
        async with self.changed:
            await self.changed.wait_for(lambda: not any(device.connections for device, _ in self.crowd.members))

    async def deaf(self, adapter: str, loss: str) -> None:
        self.adapters[adapter].loss = int(loss)

    async def hear(self, *words: str) -> None:
        for name in self.adapters:
            self.adapters[name].loss = UNHEARD
        self.promised = {name: int(loss) for name, loss in zip(words[::2], words[1::2])}
        self.keep_promise()

    async def limit(self, adapter: str, count: str) -> None:
        self.adapters[adapter].limit = int(count)

    async def lose(self, number: str) -> None:
        if not self.link.lose(self.crowd.members[int(number)][0].random_address):
            raise RuntimeError("no link to lose")

    async def unplug(self, adapter: str) -> None:
        controller = self.adapters[adapter]
        controller.kernel.unplug()
        controller.le_scan_enable = self.listening[adapter] = False
        controller.pending_le_connection = None
        for connection in list(controller.le_connections.values()):
            self.link.lose(connection.peer_address)

    async def plug(self, adapter: str, address: str | None = None) -> None:
        controller = self.adapters[adapter]
        if address:
            controller.public_address = hci.Address(address, hci.Address.PUBLIC_DEVICE_ADDRESS)
        controller.kernel.plug()


async def main(socket: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    joined = Joined(control)
    await joined.run()
    await control.serve(socket)
    control.say("ready", sensors=SENSORS)
    await joined.beat()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
