"""The Bumble side of the lab: an adapter for the kernel, and two peripherals that it can hear.

    python -m peers.peripheral SOCKET

NEAR is a connectable heart rate sensor with the services of peers/services.py; FAR is a weak beacon.
Says `ready adapter=hciN` when both advertise, and `scanning` whenever the kernel's radio begins or ends to listen. Commands on the control socket:

    reset              disconnect everybody, values as at the start, advertise; answers once all that is true
    drop [REASON]      disconnect as the peripheral, with an HCI reason (0x13)
    lose               break the link without a word: both sides see a supervision timeout
    advertise on|off   NEAR's advertising
    seldom SECONDS     how long NEAR is silent between two advertisements, and before the first; `seldom 0`: as usual
    ghost ADDRESS      somebody is heard once by this scan or the next, and never again; says `connecting` when it is connected to
    silence on|off     whether reads of SILENT stay unanswered
    losing OFFSET...   break the link when an update has come so far, once for each offset
    notify HEX         one heart rate measurement to whoever subscribed
    veil               has a private address from now on, which it answers; `unveil` ends that
    forget             loses the keys of every bond
    tree               the GATT server's attributes as JSON
    requests           the opcodes of the ATT requests and commands since the last call, in order
    strays HEX...      responses that go out before each answer, and belong to nothing; without any: none
    late SECONDS       how long requests wait from now on, in order; says `late opcode=0x0a` for each
    unplug             takes the kernel's adapter away; the peripherals lose their links to it
    plug               brings it back, with the same address
    crowd N            so many further sensors; `scatter N` breaks the links of some, `leave` sends all away
"""

from __future__ import annotations

import asyncio
import json
import logging
import struct
import sys

from bumble import hci
from bumble.core import AdvertisingData, UUID
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.keys import MemoryKeyStore
from bumble.pairing import PairingConfig, PairingDelegate

from lab import names
from peers import air
from peers.ailments import Ailments
from peers.control import Control
from peers.crowd import Crowd
from peers.services import Services

ADVERTISING_MS = 100
EXCHANGE_MTU = 0x02
REQUESTS = {0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20}
BEAT_SECONDS = 0.2


def device(link: air.Link, name: str, address: str, rssi: int) -> Device:
    configuration = DeviceConfiguration()
    configuration.name = name
    configuration.address = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
    configuration.irk = bytes(range(16))
    return Device(config=configuration, host=air.bumble_host(link, name, rssi))


class Near:
    """The connectable peripheral."""

    def __init__(self, link: air.Link, control: Control):
        self.link = link
        self.control = control
        self.device = device(link, names.NEAR_NAME, names.NEAR, names.NEAR_RSSI)
        # Like a sensor without buttons: Just Works, and the keys are kept.
        delegate = PairingDelegate(PairingDelegate.NO_OUTPUT_NO_INPUT)
        self.device.pairing_config_factory = lambda _: PairingConfig(sc=True, mitm=False, bonding=True, delegate=delegate)
        self.services = Services(self.device, control, lambda: link.lose(self.device.random_address))
        self.crowd = Crowd(link)
        self.connections: list = []
        self.changed = asyncio.Condition()
        self.advertiser = asyncio.Lock()
        self.advertising_wanted = True
        self.device.on("connection", self.on_connection)
        self.opcodes: list[int] = []
        self.on_gatt_pdu = self.device.gatt_server.on_gatt_pdu
        self.device.gatt_server.on_gatt_pdu = self.take_request
        self.stray_pdus: list[bytes] = []
        self.delay = 0.0
        self.waiting: list[tuple] = []
        for command in (
            self.reset,
            self.drop,
            self.lose,
            self.advertise,
            self.seldom,
            self.silence,
            self.notify,
            self.losing,
            self.forget,
            self.veil,
            self.unveil,
            self.tree,
            self.requests,
            self.strays,
            self.late,
        ):
            control.commands[command.__name__] = command

    async def run(self) -> None:
        await self.device.power_on()
        await self.forget()
        kinds = AdvertisingData.Type
        company = struct.pack("<H", names.COMPANY)
        self.device.advertising_data = bytes(
            AdvertisingData(
                [
                    (kinds.FLAGS, b"\x06"),
                    (kinds.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, UUID(names.HEART_RATE).to_bytes()),
                    (kinds.COMPLETE_LOCAL_NAME, names.NEAR_NAME.encode()),
                    (kinds.MANUFACTURER_SPECIFIC_DATA, company + names.MANUFACTURER_BYTES),
                ]
            )
        )
        self.device.scan_response_data = bytes(
            AdvertisingData(
                [
                    (kinds.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, UUID(names.VENDOR).to_bytes()),
                    (kinds.TX_POWER_LEVEL, struct.pack("b", names.TX_POWER)),
                    (kinds.APPEARANCE, struct.pack("<H", names.APPEARANCE)),
                ]
            )
        )
        await self.advertise("on")

    async def beat(self) -> None:
        """Notifies the heart rate, to whoever subscribed, for ever."""
        rate = 0
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            rate = (rate + 1) % 100
            await self.device.notify_subscribers(self.services.heart_rate, bytes([0, 60 + rate]))
            await self.crowd.beat()

    def on_connection(self, connection) -> None:
        self.connections.append(connection)
        self.control.say("connected", peer=connection.peer_address, handle=connection.handle)
        connection.on("disconnection", lambda reason: self.on_disconnection(connection, reason))
        connection.on("connection_att_mtu_update", lambda: self.control.say("mtu", mtu=connection.att_mtu))

    def on_disconnection(self, connection, reason: int) -> None:
        self.connections.remove(connection)
        self.control.say("disconnected", reason=f"0x{reason:02x}")
        self.services.start(self.after_disconnection())

    async def after_disconnection(self) -> None:
        if self.advertising_wanted and not self.connections:
            await self.start_advertising()
        async with self.changed:
            self.changed.notify_all()

    async def start_advertising(self) -> None:
        async with self.advertiser:
            if self.device.is_advertising:
                return
            await self.device.start_advertising(
                advertising_interval_min=ADVERTISING_MS, advertising_interval_max=ADVERTISING_MS
            )
            self.control.say("advertising", on=1)

    # Commands

    async def reset(self) -> None:
        self.services.restore()
        self.stray_pdus = []
        self.delay = 0.0
        await self.seldom("0")
        self.advertising_wanted = True
        for connection in list(self.connections):
            await connection.disconnect()
        async with self.changed:
            await self.changed.wait_for(lambda: not self.connections)
        await self.start_advertising()

    async def drop(self, reason: str = "0x13") -> None:
        for connection in list(self.connections):
            await connection.disconnect(int(reason, 0))

    async def lose(self) -> None:
        if not self.link.lose(self.device.random_address):
            raise RuntimeError("no link to lose")

    async def advertise(self, state: str) -> None:
        self.advertising_wanted = state == "on"
        if self.advertising_wanted:
            await self.start_advertising()
        else:
            await self.device.stop_advertising()
            self.control.say("advertising", on=0)

    async def seldom(self, seconds: str) -> None:
        advertiser = self.device.host.controller.le_legacy_advertiser
        interval = float(seconds) or None
        if interval != advertiser.interval:
            advertiser.interval = interval
            advertiser.wait()

    async def silence(self, state: str) -> None:
        self.services.silent = state == "on"

    async def losing(self, *offsets: str) -> None:
        self.services.losing.places = sorted(map(int, offsets))

    async def notify(self, value: str) -> None:
        await self.device.notify_subscribers(self.services.heart_rate, bytes.fromhex(value))

    async def forget(self) -> None:
        self.device.keystore = MemoryKeyStore()

    async def veil(self) -> str:
        return await self.rename(hci.Address.generate_private_address(self.device.irk))

    async def unveil(self) -> str:
        return await self.rename(self.device.static_address)

    async def rename(self, address: hci.Address) -> str:
        """Advertises under another address; nobody may be connected."""
        await self.device.stop_advertising()
        await self.device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address
        await self.start_advertising()
        return address.to_string(with_type_qualifier=False)

    def take_request(self, bearer, pdu):
        opcode = int(pdu.op_code)
        self.opcodes.append(opcode)
        if opcode not in REQUESTS or not (self.stray_pdus or self.delay or self.waiting):
            return self.on_gatt_pdu(bearer, pdu)
        self.waiting.append((bearer, pdu, self.delay))
        if self.delay:
            self.control.say("late", opcode=f"0x{opcode:02x}")
        if len(self.waiting) == 1:
            self.services.start(self.answer_waiting())

    async def answer_waiting(self) -> None:
        """In the order in which they came, as the Attribute Protocol has it."""
        while self.waiting:
            bearer, pdu, delay = self.waiting[0]
            await asyncio.sleep(delay)
            if bearer in self.connections:
                for stray in self.stray_pdus if int(pdu.op_code) != EXCHANGE_MTU else []:
                    self.device.gatt_server.send_gatt_pdu(bearer, stray)
                self.on_gatt_pdu(bearer, pdu)
            self.waiting.pop(0)

    async def strays(self, *pdus: str) -> None:
        self.stray_pdus = [bytes.fromhex(pdu) for pdu in pdus]

    async def late(self, seconds: str) -> None:
        self.delay = float(seconds)

    async def requests(self) -> str:
        opcodes, self.opcodes = self.opcodes, []
        return ",".join(f"0x{opcode:02x}" for opcode in opcodes)

    async def tree(self) -> str:
        return json.dumps(self.services.tree())


async def run_far(link: air.Link) -> Device:
    far = device(link, names.FAR_NAME, names.FAR, names.FAR_RSSI)
    await far.power_on()
    kinds = AdvertisingData.Type
    far.advertising_data = bytes(
        AdvertisingData(
            [
                (kinds.FLAGS, b"\x04"),
                (kinds.COMPLETE_LOCAL_NAME, names.FAR_NAME.encode()),
                (kinds.SERVICE_DATA_16_BIT_UUID, UUID(names.BATTERY).to_bytes() + b"\x57"),
            ]
        )
    )
    await far.start_advertising(
        advertising_type=AdvertisingType.UNDIRECTED,
        advertising_interval_min=ADVERTISING_MS,
        advertising_interval_max=ADVERTISING_MS,
    )
    return far


async def main(socket: str) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    link = air.Link()

    def on_scanning(on: int, active: int) -> None:
        control.say("scanning", on=on, active=active)

    def on_connecting(peer: hci.Address) -> None:
        control.say("connecting", peer=peer.to_string(with_type_qualifier=False))

    central = air.kernel_adapter(link, names.CENTRAL, on_scanning, on_connecting)
    near = Near(link, control)

    async def unplug() -> None:
        central.kernel.unplug()
        link.lose(near.device.random_address)

    async def plug() -> None:
        central.kernel.plug()

    async def ghost(address: str) -> None:
        central.ghosts.append(hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS))
        central.hear_ghosts()

    control.commands["crowd"] = near.crowd.grow
    control.commands["scatter"] = near.crowd.scatter
    control.commands["leave"] = near.crowd.leave
    control.commands["unplug"] = unplug
    control.commands["plug"] = plug
    control.commands["ail"] = Ailments(central, control.say).ail
    control.commands["ghost"] = ghost
    await near.run()
    far = await run_far(link)
    await control.serve(socket)
    control.say("ready", adapter=f"hci{central.kernel.index}")
    await near.beat()
    del far


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
