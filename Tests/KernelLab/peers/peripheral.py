"""The Bumble side of the lab: an adapter for the kernel, and two peripherals that it can hear.

    python -m peers.peripheral SOCKET [PROFILE]

The kernel's controller, or NEAR, is as the profile has it (peers/zoo). NEAR is a connectable heart rate sensor with the services of peers/services.py; FAR is a weak beacon.
Says `ready adapters=hciN` when both advertise, with the further adapters that the profile has, `scanning` whenever the kernel's radio begins or ends to listen, and under what
kind of address, and `meddled` for a command that comes while it makes a connection. Commands on the control socket:

    reset              disconnect everybody, values as at the start, advertise; answers once all that is true
    drop [REASON]      disconnect as the peripheral, with an HCI reason (0x13)
    ask INTERVAL [N]   ask whoever is connected for this interval in ms, and again whenever it is undone, N times in all (1)
    lose               break the link without a word: both sides see a supervision timeout
    abort COUNT        so many links to come are lost before anything was said on them, reason 0x3e
    advertise on|off   NEAR's advertising
    seldom SECONDS     how long NEAR is silent between two advertisements, and before the first; `seldom 0`: as usual
    ghost ADDRESS      somebody is heard once by this scan or the next, and never again; says `connecting` when it is connected to
    silence on|off     whether reads of SILENT stay unanswered
    losing OFFSET...   break the link when an update has come so far, once for each offset
    notify HEX         one heart rate measurement to whoever subscribed
    veil               has a private address from now on, which it answers; `unveil` ends that
    guard WHAT LEVEL   has `secret` or `beats` (the switch of the heart rate) ask for `encrypted` or `authenticated`
    forget             loses the keys of every bond
    become ADDRESS     is another device from now on, with that static address
    manner HOW [WORD...] how NEAR pairs: `none` as at the start, `shows 624813` a passkey, `enters` or `compares` what it is
                       told by `types 624813`, `types yes`, `types no`, or can do `all` of that; the words are those of
                       peers/person.py
    share              what NEAR tells out of band, in hexadecimal; `hear HEX`: what it is told so. `manner` ends both
    tree               the GATT server's attributes as JSON
    requests           the opcodes of the ATT requests and commands since the last call, in order
    strays HEX...      responses that go out before each answer, and belong to nothing; without any: none
    late SECONDS       how long requests wait from now on, in order; says `late opcode=0x0a` for each
    narrow MTU         the largest MTU that NEAR accepts from now on, 517 at the start
    address ADDRESS    the kernel's controller says that this is its own when it is asked next: when it is switched on
    hasten SECONDS     how often the kernel's controller advertises, whatever the kernel says: that says 1.28 s
    simple on|off      whether the kernel's controller says that it can do Secure Simple Pairing
    unplug             takes the kernel's adapter away; the peripherals lose their links to it
    plug [unconfigured] brings it back, with the same address; unconfigured: to be used once somebody says that it may be
    stage              what the profile has for the beginning of a job
    central WORDS...   a Bumble central on the same air, by the commands of peers/central.py, to its adapter's public address
    elsewhere WHO WORDS... somebody on another air, for who stands between the two (peers/elsewhere.py)
    listen, undo [N], ciphered, overheard  somebody who hears what is said on this air (peers/listener.py)
    crowd N            so many further sensors; `scatter N` breaks the links of some, `leave` sends all away
"""

from __future__ import annotations

import asyncio
import json
import logging
import struct
import sys

from bumble import att, hci
from bumble.core import AdvertisingData, UUID
from bumble.device import AdvertisingType, Device, DeviceConfiguration
from bumble.keys import MemoryKeyStore, PairingKeys

from lab import names
from peers import air, zoo
from peers.ailments import Ailments
from peers.central import Central, commands, on_air
from peers.control import Control
from peers.crowd import Crowd
from peers.elsewhere import Elsewhere
from peers.listener import Listener
from peers.person import Person
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


class Keys(MemoryKeyStore):
    """The bonds of a device that others pair with.

    Bumble keeps the two keys of a legacy pairing by who began it, and looks for one by its role on the link: of the two a
    peripheral would take the central's.
    """

    async def update(self, name: str, keys: PairingKeys) -> None:
        keys.ltk_central, keys.ltk_peripheral = keys.ltk_peripheral, keys.ltk_central
        await super().update(name, keys)


class Near:
    """The connectable peripheral."""

    def __init__(self, link: air.Link, control: Control):
        self.link = link
        self.control = control
        self.device = device(link, names.NEAR_NAME, names.NEAR, names.NEAR_RSSI)
        # Like a sensor without buttons: Just Works, and the keys are kept.
        self.person = Person(control.say, "none")
        self.device.pairing_config_factory = lambda _: self.person.config
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
        self.asks = 0
        self.wish = 0.0
        self.granted = False
        self.stray_pdus: list[bytes] = []
        self.delay = 0.0
        self.waiting: list[tuple] = []
        self.aborts = 0
        for command in (
            self.reset,
            self.drop,
            self.ask,
            self.lose,
            self.abort,
            self.advertise,
            self.seldom,
            self.silence,
            self.notify,
            self.losing,
            self.forget,
            self.manner,
            self.types,
            self.guard,
            self.share,
            self.hear,
            self.veil,
            self.unveil,
            self.become,
            self.tree,
            self.requests,
            self.strays,
            self.late,
            self.narrow,
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
        behind = connection.peer_resolvable_address or connection.peer_address
        self.control.say("connected", peer=connection.peer_address, handle=connection.handle, behind=behind)
        connection.on("disconnection", lambda reason: self.on_disconnection(connection, reason))
        connection.on("connection_parameters_update", lambda: self.on_parameters(connection))
        connection.on("connection_att_mtu_update", lambda: self.control.say("mtu", mtu=connection.att_mtu))
        if self.aborts:
            self.aborts -= 1
            failed = hci.HCI_ErrorCode.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR
            asyncio.get_running_loop().call_soon(self.link.lose, self.device.random_address, failed)

    def on_parameters(self, connection) -> None:
        parameters = connection.parameters
        interval = parameters.connection_interval
        self.control.say("parameters", interval=interval, timeout=parameters.supervision_timeout)
        # The central may say the same twice: that is no second refusal.
        was_granted, self.granted = self.granted, interval == self.wish
        if self.asks and was_granted and not self.granted:
            self.asks -= 1
            self.services.start(self.ask_once(connection))

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
        self.asks = 0
        self.stray_pdus = []
        self.delay = 0.0
        self.aborts = 0
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

    async def ask(self, interval: str, times: str = "1") -> None:
        self.wish = float(interval)
        self.asks = int(times) - 1
        for connection in list(self.connections):
            await self.ask_once(connection)

    async def ask_once(self, connection) -> None:
        """As peripherals ask that know no link layer request: by L2CAP, which the kernel answers by itself."""
        self.control.say("asking", interval=self.wish)
        await connection.update_parameters(self.wish, self.wish, 0, 6000, use_l2cap=True)

    async def lose(self) -> None:
        if not self.link.lose(self.device.random_address):
            raise RuntimeError("no link to lose")

    async def abort(self, count: str) -> None:
        self.aborts = int(count)

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
        self.device.keystore = Keys()

    async def manner(self, how: str, *words: str) -> None:
        self.person = Person(self.control.say, how, *words)

    async def types(self, word: str) -> None:
        self.person.typed.put_nowait(word)

    async def guard(self, what: str, level: str) -> None:
        self.services.guard(what, level)

    async def share(self) -> str:
        return self.person.share()

    async def hear(self, octets: str) -> None:
        self.person.hear(octets)

    async def veil(self) -> str:
        return await self.rename(hci.Address.generate_private_address(self.device.irk))

    async def unveil(self) -> str:
        return await self.rename(self.device.static_address)

    async def become(self, address: str) -> str:
        self.device.static_address = hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)
        return await self.unveil()

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
        handle = getattr(pdu, "attribute_handle", 0)
        if self.services.refuses(bearer, handle):
            error = att.ATT_Error_Response(
                request_opcode_in_error=opcode,
                attribute_handle_in_error=handle,
                error_code=att.ATT_INSUFFICIENT_AUTHENTICATION_ERROR,
            )
            return self.device.gatt_server.send_response(bearer, error)
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

    async def narrow(self, mtu: str) -> None:
        self.device.gatt_server.max_mtu = int(mtu)

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


async def main(socket: str, profile_name: str = zoo.PLAIN.name) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    link = air.Link()
    profile = zoo.named(profile_name)

    def on_scanning(on: int, active: int) -> None:
        own = "random" if central.le_scan_own_address_type == hci.AddressType.RANDOM_DEVICE else "public"
        control.say("scanning", on=on, active=active, own=own)

    def on_connecting(peer: hci.Address) -> None:
        control.say("connecting", peer=peer.to_string(with_type_qualifier=False))

    central = air.kernel_adapter(link, names.CENTRAL, on_scanning, on_connecting, profile.controller or air.CentralController)
    async def hasten(seconds: str) -> None:
        central.le_legacy_advertiser.interval = float(seconds)

    central.on_meddling = lambda opcode: control.say("meddled", opcode=f"0x{opcode:04x}")
    near = Near(link, control)
    others = profile.plugs and profile.plugs(link)

    async def unplug() -> None:
        central.kernel.unplug()
        link.lose(near.device.random_address)

    async def plug(how: str = "") -> None:
        central.kernel.plug(air.EXTERNAL_CONFIGURATION if how == "unconfigured" else 0)

    async def ghost(address: str) -> None:
        central.ghosts.append(air.Ghost(hci.Address(address, hci.Address.RANDOM_DEVICE_ADDRESS)))
        central.hear_ghosts()

    ailments = Ailments(central, control.say)
    stage = zoo.Stage(link, central, near, control, ailments)
    centrals: list[Central] = []

    async def command_central(verb: str, *words: str) -> str | None:
        if not centrals:
            centrals.append(await on_air(link, control))
        return await commands(centrals)[verb](*words)

    control.commands["elsewhere"] = Elsewhere(near, control).command
    control.commands |= Listener(link).commands()
    control.commands["stage"] = lambda: profile.before(stage)
    control.commands["central"] = command_central
    async def address(own: str) -> None:
        link.lose(near.device.random_address)
        central.public_address = hci.Address(own, hci.Address.PUBLIC_DEVICE_ADDRESS)

    async def simple(state: str) -> None:
        central.claim_simple_pairing(state == "on")

    control.commands["simple"] = simple
    control.commands["address"] = address
    control.commands["hasten"] = hasten
    control.commands["crowd"] = near.crowd.grow
    control.commands["scatter"] = near.crowd.scatter
    control.commands["leave"] = near.crowd.leave
    control.commands["unplug"] = unplug
    control.commands["plug"] = plug
    control.commands["ail"] = ailments.ail
    control.commands["ghost"] = ghost
    await near.run()
    far = await run_far(link)
    await profile.begin(stage)
    await control.serve(socket)
    adapters = [f"hci{await one.kernel.index}" for one in (central, others) if one]
    control.say("ready", adapters=",".join(adapters))
    await near.beat()
    del far, others


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
