"""bleak over bluetoothd, which is Home Assistant's Bluetooth with an adapter of its own.

    python -m peers.bleak_client ADAPTER listen|read …

Goes on as peers/dialogue.py says.
"""

from __future__ import annotations

import asyncio
import sys

from peers.bleak_radio import Radio
from peers.dialogue import Heard, act


async def main(adapter: str, *words: str) -> None:
    heard = Heard()
    async with Radio(adapter, heard.take) as radio:
        await act(heard.facts, radio.connect, *words)


asyncio.run(main(*sys.argv[1:]))
