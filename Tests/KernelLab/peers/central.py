"""Bumble as centrals.

    python -m peers.central SOCKET ADAPTER...       each on an adapter that is powered off, which it has to itself
    python -m peers.central SOCKET air ADDRESS [CENTRAL]
                            two on an air of their own, with an adapter of the kernel at ADDRESS, and one at CENTRAL for a
                            central of the kernel's

Says `ready`, then `notified central=N uuid=… hex=…` for each value that comes. Commands, N counts the adapters from 0:

    connect N ADDRESS       connects to a public address, negotiates the MTU, discovers; answers with the MTU
    open N ADDRESS          connects, and asks for nothing; `discover N` asks then
    exchange N              negotiates the MTU; answers with it
    meet N                  connects to whoever advertises, and discovers; answers with the address, and with who that is: itself,
                            or the identity behind it where it is known
    greet N ADDRESS         connects, and negotiates the MTU; answers with it
    listen N                says `heard central=N address=… data=…` when what somebody advertises as data of 16-bit services is
                            another than before; `hush N` ends that
    become N ADDRESS        is another device from now on, with that static address
    tree N                  services, characteristics and their properties as JSON
    read N UUID             the whole value in hexadecimal
    write N UUID HEX        with response
    command N UUID HEX      without response
    flood N UUID COUNT      so many values of four octets, without response, as fast as the server reads them
    stream N UUID SECONDS   a number of four octets each so many seconds, with response, each one more than the last
    still N                 ends that; answers with the last number
    subscribe N UUID        notifications; `indicate N UUID` for indications
    disconnect N            `leave N` where the link may have ended already
    manner N HOW [WORD...]  how it pairs, as peers/peripheral.py has it: `none` at the start; `types N WORD` is what somebody does
    veil N                  has a private address from now on, which it answers; `unveil N` ends that
    share N                 what it tells out of band, in hexadecimal; `hear N HEX`: what it is told so. `manner` ends both
    simple on|off           whether the kernel's controller on that air says that it can do Secure Simple Pairing
    pair N                  begins to pair; says `paired central=N` or `unpaired central=N reason=…`
    encrypt N               with the keys of the bond; `forget N` loses them
    storm N ADDRESS SEED COUNT    so many PDUs of chance, on links of its own; answers with what became of them
    visit N ADDRESS COUNT   connects, negotiates the MTU and leaves, so often
    toggle N UUID COUNT     writes its CCCD so often, on and off by turns, and on in the end where the number is odd
    unplug, plug            takes the kernel's adapter at ADDRESS away, with all its links, and brings it back
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys

from bumble.core import UUID, AdvertisingData, PhysicalTransport
from bumble.device import Device, DeviceConfiguration, Peer
from bumble.gatt import GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR
from bumble.hci import Address, HCI_LE_Set_Random_Address_Command
from bumble.keys import MemoryKeyStore

from lab import names
from peers import air
from peers.control import Control
from peers.person import Person
from peers.storm import Storm

SERVICE_DATA = AdvertisingData.Type.SERVICE_DATA_16_BIT_UUID


class Central:
    def __init__(self, number: int, device: Device, control: Control):
        self.number, self.device, self.control = number, device, control
        self.connection = None
        self.peer = None
        self.streamed = 0
        self.streaming = None
        self.writing = asyncio.Lock()
        self.pairing = None
        self.person = Person(self.say, "none")
        device.keystore = MemoryKeyStore()
        device.pairing_config_factory = lambda _: self.person.config

    async def open(self, address: str) -> None:
        await self.link(Address(address, Address.PUBLIC_DEVICE_ADDRESS))

    async def link(self, address: Address) -> None:
        self.connection = await self.device.connect(address, transport=PhysicalTransport.LE)
        self.gone = asyncio.Event()
        self.connection.on("disconnection", self.on_disconnection)

    def on_disconnection(self, reason: int) -> None:
        self.gone.set()
        self.say("disconnected", reason=f"0x{reason:02x}")

    async def leave(self) -> None:
        """Whoever ends the link: Bumble waits for ever for the end of one that has just ended."""
        if not self.gone.is_set():
            leaving = asyncio.ensure_future(self.connection.disconnect())
            await self.gone.wait()
            leaving.cancel()

    async def greet(self, address: str) -> str:
        await self.open(address)
        return await self.exchange()

    async def become(self, address: str) -> None:
        own = self.device.static_address = self.device.random_address = Address(address, Address.RANDOM_DEVICE_ADDRESS)
        await self.device.send_sync_command(HCI_LE_Set_Random_Address_Command(random_address=own))

    async def connect(self, address: str) -> str:
        await self.open(address)
        return await self.discover()

    async def meet(self) -> str:
        heard = asyncio.get_running_loop().create_future()

        def on_advertisement(advertisement) -> None:
            if advertisement.is_connectable and not heard.done():
                heard.set_result(advertisement.address)

        self.device.on("advertisement", on_advertisement)
        await self.device.start_scanning()
        address = await heard
        await self.device.stop_scanning()
        self.device.remove_listener("advertisement", on_advertisement)
        await self.link(address)
        await self.discover()
        return " ".join(a.to_string(with_type_qualifier=False) for a in (address, self.connection.peer_address))

    async def listen(self) -> None:
        heard: dict[str, str] = {}

        def on_advertisement(advertisement) -> None:
            address = advertisement.address.to_string(with_type_qualifier=False)
            fields = advertisement.data.ad_structures
            data = "".join(bytes(octets).hex() for kind, octets in fields if kind == SERVICE_DATA)
            if data and heard.get(address) != data:
                heard[address] = data
                self.say("heard", address=address, data=data)

        self.listening = on_advertisement
        self.device.on("advertisement", on_advertisement)
        await self.device.start_scanning(filter_duplicates=False)

    async def hush(self) -> None:
        await self.device.stop_scanning()
        self.device.remove_listener("advertisement", self.listening)

    async def exchange(self) -> str:
        self.peer = Peer(self.connection)
        return str(await self.peer.request_mtu(517))

    async def discover(self) -> str:
        mtu = await self.exchange()
        await self.peer.discover_services()
        for service in self.peer.services:
            await service.discover_characteristics()
        return mtu

    def say(self, event: str, **facts) -> None:
        self.control.say(event, central=self.number, **facts)

    def find(self, uuid: str):
        found = self.peer.get_characteristics_by_uuid(UUID(uuid))
        if not found:
            raise LookupError(uuid)
        return found[0]

    def tree(self) -> str:
        return json.dumps(
            {
                names.full(str(service.uuid.to_hex_str("-"))): {
                    names.full(str(c.uuid.to_hex_str("-"))): int(c.properties) for c in service.characteristics
                }
                for service in self.peer.services
            }
        )

    async def read(self, uuid: str) -> str:
        return bytes(await self.find(uuid).read_value()).hex()

    async def write(self, uuid: str, value: str, with_response: bool) -> None:
        await self.find(uuid).write_value(bytes.fromhex(value), with_response=with_response)

    async def flood(self, uuid: str, count: str) -> None:
        found, name = self.find(uuid), self.find("2A00")
        for number in range(int(count)):
            await found.write_value(number.to_bytes(4, "big"), with_response=False)
            # The kernel drops what its queue has no room for. A server answers this by itself, behind what came before.
            if number % 100 == 99:
                await name.read_value()

    async def stream(self, uuid: str, seconds: str) -> None:
        found = self.find(uuid)

        async def write() -> None:
            while True:
                await asyncio.sleep(float(seconds))
                async with self.writing:
                    await found.write_value((self.streamed + 1).to_bytes(4, "big"), with_response=True)
                    self.streamed += 1

        self.streaming = asyncio.ensure_future(write())

    async def still(self) -> str:
        """Between two writes; one that failed is told."""
        async with self.writing:
            self.streaming.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.streaming
        return str(self.streamed)

    async def manner(self, how: str, *words: str) -> None:
        self.person = Person(self.say, how, *words)

    async def types(self, word: str) -> None:
        self.person.typed.put_nowait(word)

    async def veil(self) -> str:
        return await self.rename(Address.generate_private_address(self.device.irk))

    async def unveil(self) -> str:
        return await self.rename(self.device.static_address)

    async def rename(self, address: Address) -> str:
        await self.device.send_sync_command(HCI_LE_Set_Random_Address_Command(random_address=address))
        self.device.random_address = address
        return address.to_string(with_type_qualifier=False)

    async def share(self) -> str:
        return self.person.share()

    async def hear(self, octets: str) -> None:
        self.person.hear(octets)

    async def pair(self) -> None:
        async def end() -> None:
            try:
                await self.connection.pair()
                self.say("paired")
            except Exception as error:  # the scenario has to hear of it, whatever it is
                self.say("unpaired", reason=f"{type(error).__name__}:{error}")

        self.pairing = asyncio.ensure_future(end())

    async def encrypt(self) -> None:
        await self.connection.encrypt()

    async def forget(self) -> None:
        self.device.keystore = MemoryKeyStore()

    async def visit(self, address: str, count: str) -> None:
        for _ in range(int(count)):
            await self.greet(address)
            await self.leave()

    async def toggle(self, uuid: str, count: str) -> None:
        characteristic = self.find(uuid)
        await characteristic.discover_descriptors()
        switch = characteristic.get_descriptor(GATT_CLIENT_CHARACTERISTIC_CONFIGURATION_DESCRIPTOR)
        for number in range(int(count)):
            await switch.write_value(b"\x00\x00" if number % 2 else b"\x01\x00", with_response=True)

    async def subscribe(self, uuid: str, prefer_notify: bool) -> None:
        characteristic = self.find(uuid)
        await characteristic.discover_descriptors()
        await characteristic.subscribe(
            lambda value: self.say("notified", uuid=names.full(uuid), hex=bytes(value).hex() or "-"),
            prefer_notify=prefer_notify,
        )


async def devices(adapters: list[str], kept: list):
    """The devices to be centrals; what has to live as long as they do is kept."""
    addresses = [Address(f"E0:00:00:00:00:0{number}", Address.RANDOM_DEVICE_ADDRESS) for number in range(9)]
    if adapters[0] == "air":
        link = air.Link()
        kept.append(air.kernel_peripheral(link, adapters[1]))
        if adapters[2:]:
            kept.append(air.kernel_adapter(link, adapters[2], lambda on, active: None, lambda peer: None))
        for number in range(2):
            configuration = DeviceConfiguration()
            configuration.name, configuration.address = f"Central {number}", addresses[number]
            configuration.irk = bytes([number + 1] * 16)
            yield Device(config=configuration, host=air.bumble_central(link, configuration.name))
        return
    for number, adapter in enumerate(adapters):
        controller = air.KernelController(int(adapter))
        kept.append(controller)
        yield Device.with_hci(f"Central {number}", addresses[number], controller, controller)


async def on_air(link: air.Link, control: Control) -> Central:
    """One on an air where others are."""
    configuration = DeviceConfiguration()
    configuration.name = "Central"
    configuration.address = Address("E0:00:00:00:00:00", Address.RANDOM_DEVICE_ADDRESS)
    host = air.bumble_central(link, configuration.name)
    central = Central(0, Device(config=configuration, host=host), control)
    await central.device.power_on()
    return central


def commands(centrals: list[Central]) -> dict:
    """What the centrals are told by those numbers."""

    async def disconnect(number: str) -> None:
        await centrals[int(number)].connection.disconnect()

    async def tree(number: str) -> str:
        return centrals[int(number)].tree()

    def storm(number: str, address: str, seed: str, count: str):
        return Storm(centrals[int(number)], address).rage(int(seed), int(count))

    return {
        "storm": storm,
        "visit": lambda number, address, count: centrals[int(number)].visit(address, count),
        "toggle": lambda number, uuid, count: centrals[int(number)].toggle(uuid, count),
        "connect": lambda number, address: centrals[int(number)].connect(address),
        "open": lambda number, address: centrals[int(number)].open(address),
        "exchange": lambda number: centrals[int(number)].exchange(),
        "meet": lambda number: centrals[int(number)].meet(),
        "greet": lambda number, address: centrals[int(number)].greet(address),
        "listen": lambda number: centrals[int(number)].listen(),
        "hush": lambda number: centrals[int(number)].hush(),
        "become": lambda number, address: centrals[int(number)].become(address),
        "discover": lambda number: centrals[int(number)].discover(),
        "tree": tree,
        "read": lambda number, uuid: centrals[int(number)].read(uuid),
        "write": lambda number, uuid, value: centrals[int(number)].write(uuid, value, True),
        "command": lambda number, uuid, value: centrals[int(number)].write(uuid, value, False),
        "flood": lambda number, uuid, count: centrals[int(number)].flood(uuid, count),
        "stream": lambda number, uuid, seconds: centrals[int(number)].stream(uuid, seconds),
        "still": lambda number: centrals[int(number)].still(),
        "subscribe": lambda number, uuid: centrals[int(number)].subscribe(uuid, True),
        "indicate": lambda number, uuid: centrals[int(number)].subscribe(uuid, False),
        "disconnect": disconnect,
        "leave": lambda number: centrals[int(number)].leave(),
        "manner": lambda number, *words: centrals[int(number)].manner(*words),
        "types": lambda number, word: centrals[int(number)].types(word),
        "veil": lambda number: centrals[int(number)].veil(),
        "unveil": lambda number: centrals[int(number)].unveil(),
        "share": lambda number: centrals[int(number)].share(),
        "hear": lambda number, octets: centrals[int(number)].hear(octets),
        "pair": lambda number: centrals[int(number)].pair(),
        "encrypt": lambda number: centrals[int(number)].encrypt(),
        "forget": lambda number: centrals[int(number)].forget(),
    }


async def main(socket: str, adapters: list[str]) -> None:
    logging.basicConfig(level=logging.WARNING)
    control = Control()
    centrals: list[Central] = []
    kept = []
    for number, device in enumerate([device async for device in devices(adapters, kept)]):
        await device.power_on()
        centrals.append(Central(number, device, control))

    async def simple(state: str) -> None:
        kept[0].claim_simple_pairing(state == "on")

    async def unplug() -> None:
        kept[0].unplug()

    async def plug() -> None:
        kept[0].kernel.plug()

    control.commands |= commands(centrals) | {"simple": simple, "unplug": unplug, "plug": plug}
    await control.serve(socket)
    control.say("ready", centrals=len(centrals))
    await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2:]))
