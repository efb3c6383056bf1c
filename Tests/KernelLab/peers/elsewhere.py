"""Another air, out of reach of the kernel's adapter, with a peripheral and a central on it.

Somebody in the middle has one foot on each air: NEAR, or the central beside it, is the one; the central, or the peripheral,
of this air the other. Who is meant to be paired with is the one that is left here. `elsewhere WHO WORDS...`, where WHO is

    central WORDS...    by the commands of peers/central.py, without the number; `central=elsewhere` in what it says
    peripheral WORDS... `manner`, `types`, `share` and `hear` as NEAR has them; `at=elsewhere` in what it says
    relay               NEAR answers with this peripheral's value of SECRET when its own is read; `own` ends that
"""

from __future__ import annotations

from bumble.core import AdvertisingData, UUID
from bumble.device import Device, DeviceConfiguration
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.keys import MemoryKeyStore

from lab import names
from peers import air
from peers.central import Central, commands
from peers.person import Person

ADVERTISING_MS = 100


class Far:
    """The peripheral. It has NEAR's address, and a secret of its own."""

    def __init__(self, link: air.Link, say):
        configuration = DeviceConfiguration()
        configuration.name = names.NEAR_NAME
        configuration.address = Address(names.NEAR, Address.RANDOM_DEVICE_ADDRESS)
        self.device = Device(config=configuration, host=air.bumble_host(link, "elsewhere", names.NEAR_RSSI))
        self.device.keystore = MemoryKeyStore()
        self.say = lambda event, **facts: say(event, at="elsewhere", **facts)
        self.person = Person(self.say, "none")
        self.device.pairing_config_factory = lambda _: self.person.config
        permissions = Characteristic.READABLE | Characteristic.READ_REQUIRES_ENCRYPTION
        secret = Characteristic(names.SECRET, Characteristic.Properties.READ, permissions, names.FAR_SECRET_BYTES)
        self.device.add_services([Service(names.VENDOR, [secret])])

    async def begin(self) -> None:
        await self.device.power_on()
        kinds = AdvertisingData.Type
        self.device.advertising_data = bytes(
            AdvertisingData([(kinds.FLAGS, b"\x06"), (kinds.COMPLETE_LOCAL_NAME, names.NEAR_NAME.encode())])
        )
        await self.device.start_advertising(
            auto_restart=True, advertising_interval_min=ADVERTISING_MS, advertising_interval_max=ADVERTISING_MS
        )

    async def manner(self, how: str, *words: str) -> None:
        self.device.keystore = MemoryKeyStore()
        self.person = Person(self.say, how, *words)

    async def types(self, word: str) -> None:
        self.person.typed.put_nowait(word)

    async def share(self) -> str:
        return self.person.share()

    async def hear(self, octets: str) -> None:
        self.person.hear(octets)


class Elsewhere:
    def __init__(self, near, control):
        self.near, self.control = near, control
        self.far: Far | None = None
        self.central: Central | None = None

    async def begin(self) -> None:
        link = air.Link()
        self.far = Far(link, self.control.say)
        await self.far.begin()
        configuration = DeviceConfiguration()
        configuration.name = "Elsewhere"
        configuration.address = Address("E0:00:00:00:00:20", Address.RANDOM_DEVICE_ADDRESS)
        device = Device(config=configuration, host=air.bumble_central(link, configuration.name))
        self.central = Central("elsewhere", device, self.control)
        await device.power_on()

    async def command(self, who: str, verb: str = "", *words: str) -> str | None:
        if not self.far:
            await self.begin()
        match who:
            case "central":
                return await commands({0: self.central})[verb]("0", *words)
            case "peripheral":
                return await getattr(self.far, verb)(*words)
            case "relay":
                self.answer_with(CharacteristicValue(read=self.read))
            case "own":
                self.answer_with(names.SECRET_BYTES)

    async def read(self, _connection) -> bytes:
        self.control.say("relayed")
        return bytes.fromhex(await self.central.read(names.SECRET))

    def answer_with(self, value) -> None:
        secret = next(c for c in self.near.services.characteristics() if c.uuid == UUID(names.SECRET))
        secret.value = value
