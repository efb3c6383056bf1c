"""An adapter of the kernel's that hears a thousand advertisements a second, of 200 devices, and sensors to connect to.

    python -m peers.flood SOCKET ADDRESS

Its controller filters no duplicates: those of real ones remember few devices, and report more than that again and again.
Each device repeats its payload, of one of five kinds. Says `ready`. Commands on the control socket:

    until N      answers when so many further advertisements have been heard, with the seconds that it took
    rate N       how many are heard a second from now on
    heard        how many have been heard
    crowd N      so many sensors (peers/crowd.py); `leave` sends all away
    count N      each sensor with a subscriber notifies the numbers below N, one a second; answers how many all have sent
"""

from __future__ import annotations

import asyncio
import sys
import time

from bumble import hci
from bumble.core import AdvertisingData, UUID

from lab import names
from peers import air
from peers.control import Control
from peers.crowd import Crowd

DEVICES = 200
RATE = 1000  # a second
TICK = 0.01  # seconds
MOST = 50  # at a time, when it is behind
SERVICES = ["180D", "180F", "181A"]


def payload(number: int) -> bytes:
    """A heart rate sensor, a battery, a thermometer, somebody with a name only, and a company's."""
    kinds = AdvertisingData.Type
    kind = number % 5
    fields = [(kinds.FLAGS, b"\x06")]
    if kind < len(SERVICES):
        fields.append((kinds.COMPLETE_LIST_OF_16_BIT_SERVICE_CLASS_UUIDS, UUID(SERVICES[kind]).to_bytes()))
        fields.append((kinds.COMPLETE_LOCAL_NAME, f"Sensor {number}".encode()))
    elif kind == 3:
        fields.append((kinds.COMPLETE_LOCAL_NAME, f"Bench {number}".encode()))
    else:
        company = names.COMPANY.to_bytes(2, "little")
        fields.append((kinds.MANUFACTURER_SPECIFIC_DATA, company + number.to_bytes(4, "little") + bytes(12)))
    return bytes(AdvertisingData(fields))


def report(number: int) -> bytes:
    """The event of a controller, as it goes to the kernel."""
    entry = hci.HCI_LE_Advertising_Report_Event.Report(
        event_type=hci.HCI_LE_Advertising_Report_Event.EventType.ADV_IND,
        address_type=hci.Address.RANDOM_DEVICE_ADDRESS,
        address=hci.Address(f"C4:F2:17:1A:{0x60 + number // 256:02X}:{number % 256:02X}"),
        data=payload(number),
        rssi=-40 - number % 50,
    )
    return bytes(hci.HCI_LE_Advertising_Report_Event([entry]))


class Flood:
    def __init__(self, control: Control, address: str):
        link = air.Link()
        tell = lambda on, active: control.say("scanning", on=on, active=active)  # noqa: E731
        self.controller = air.kernel_adapter(link, address, tell, lambda peer: None)
        self.reports = [report(number) for number in range(DEVICES)]
        self.heard, self.rate = 0, RATE
        self.changed = asyncio.Condition()
        crowd = Crowd(link)
        control.commands |= {
            "until": self.until,
            "rate": self.set_rate,
            "heard": self.tell_heard,
            "crowd": crowd.grow,
            "leave": crowd.leave,
            "count": crowd.count,
        }

    async def run(self) -> None:
        begin, due = time.monotonic(), 0.0
        while True:
            await asyncio.sleep(TICK)
            now = time.monotonic()
            due, begin = due + (now - begin) * self.rate, now
            if not self.controller.le_scan_enable:
                due = 0
                continue
            for _ in range(min(int(due), MOST)):
                self.controller.kernel.on_packet(self.reports[self.heard % DEVICES])
                self.heard += 1
                due -= 1
            due = min(due, MOST)
            async with self.changed:
                self.changed.notify_all()

    async def until(self, count: str) -> str:
        begin, wanted = time.monotonic(), self.heard + int(count)
        async with self.changed:
            await self.changed.wait_for(lambda: self.heard >= wanted)
        return f"{time.monotonic() - begin:.3f}"

    async def set_rate(self, rate: str) -> None:
        self.rate = int(rate)

    async def tell_heard(self) -> str:
        return str(self.heard)


async def main(path: str, address: str) -> None:
    control = Control()
    flood = Flood(control, address)
    await control.serve(path)
    control.say("ready", adapter=f"hci{await flood.controller.kernel.index}")
    await flood.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
