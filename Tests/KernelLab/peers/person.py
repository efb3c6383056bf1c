"""What somebody does at a Bumble device that pairs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bumble.core import AdvertisingData
from bumble.pairing import PairingConfig, PairingDelegate
from bumble.smp import OobContext, OobSharedData

# What is shown where nobody has said what to show.
PASSKEY = 62481


class Person(PairingDelegate):
    """Somebody at a device, who does in a pairing what the scenario says.

    By words: `624813` is the passkey that is shown, `legacy`: without Secure Connections, `open`: whoever stands between
    the two is of no concern, `refuses` the pairing as such, `dallies`: never says whether to pair.
    """

    CAPABILITIES = {
        "none": PairingDelegate.NO_OUTPUT_NO_INPUT,
        "shows": PairingDelegate.DISPLAY_OUTPUT_ONLY,
        "enters": PairingDelegate.KEYBOARD_INPUT_ONLY,
        "compares": PairingDelegate.DISPLAY_OUTPUT_AND_YES_NO_INPUT,
        "all": PairingDelegate.DISPLAY_OUTPUT_AND_KEYBOARD_INPUT,
    }

    def __init__(self, say: Callable[..., None], how: str, *words: str):
        super().__init__(self.CAPABILITIES[how])
        self.say, self.words = say, words
        self.passkey = next((int(word) for word in words if word.isdigit()), PASSKEY)
        mitm = how != "none" and "open" not in words
        self.config = PairingConfig(sc="legacy" not in words, mitm=mitm, bonding=True, delegate=self)
        self.typed: asyncio.Queue[str] = asyncio.Queue()

    def share(self) -> str:
        """What the other side is told out of band, as AD structures in hexadecimal; what it was told before holds no more."""
        told = self.config.oob.peer_data if self.config.oob else None
        context = OobContext()
        self.config.oob = PairingConfig.OobConfig(our_context=context, peer_data=told, legacy_context=None)
        return bytes(context.share().to_ad()).hex()

    def hear(self, octets: str) -> None:
        """What the other side has told out of band."""
        if not self.config.oob:
            self.share()
        kinds = AdvertisingData.Type
        data = dict(AdvertisingData.from_bytes(bytes.fromhex(octets)).ad_structures)
        confirmation = data[kinds.LE_SECURE_CONNECTIONS_CONFIRMATION_VALUE]
        random = data[kinds.LE_SECURE_CONNECTIONS_RANDOM_VALUE]
        self.config.oob.peer_data = OobSharedData(c=confirmation, r=random)

    async def accept(self) -> bool:
        return await self.consents()

    async def confirm(self, auto: bool = False) -> bool:
        return await self.consents()

    async def consents(self) -> bool:
        if "dallies" in self.words:
            self.say("asked", what="consent")
            await asyncio.get_running_loop().create_future()
        return "refuses" not in self.words

    async def generate_passkey(self) -> int:
        return self.passkey

    async def get_number(self) -> int | None:
        self.say("asked", what="passkey")
        word = await self.typed.get()
        return None if word == "no" else int(word)

    async def compare_numbers(self, number: int, digits: int) -> bool:
        self.say("asked", what="comparison", number=f"{number:0{digits}}")
        return await self.typed.get() == "yes"

    async def display_number(self, number: int, digits: int) -> None:
        self.say("shown", number=f"{number:0{digits}}")
