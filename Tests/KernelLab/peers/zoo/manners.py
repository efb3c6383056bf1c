"""Peers as they are met in the field, before a plain controller."""

from __future__ import annotations

import asyncio
import itertools

from bumble import hci, ll

from lab import names
from peers import air
from peers.zoo.profile import Profile, Stage

NEVER = "600"
UNTIL_DROPPED = 0.03
CROWD = 200
CROWD_SECONDS = 1.0  # between two advertisements of one of them


async def seldom(stage: Stage) -> None:
    await stage.near.seldom("6")


async def once(stage: Stage) -> None:
    """Is heard by the first who listens, and by nobody any more."""
    await stage.near.seldom(NEVER)
    advertiser = stage.near.device.host.controller.le_legacy_advertiser
    ghost = air.Ghost(advertiser.address, advertiser.advertising_data, advertiser.scan_response_data)
    stage.central.ghosts = [ghost]


async def drop_three_of_four(stage: Stage) -> None:
    """The first three connections of each job end before the first packet: neither side has heard the other."""
    stage.link.failures = 3


async def begin_dropping(stage: Stage) -> None:
    link = stage.link
    link.failures = 0

    def drop(address) -> None:
        link.unheard = None
        link.lose(address, hci.HCI_ErrorCode.CONNECTION_FAILED_TO_BE_ESTABLISHED_ERROR)

    def on_connection(connection) -> None:
        if link.failures:
            link.failures -= 1
            link.unheard = connection.self_address
            asyncio.get_running_loop().call_later(UNTIL_DROPPED, drop, connection.self_address)

    stage.near.device.on("connection", on_connection)


class Demands:
    """What a peripheral asks its central for as soon as it is connected."""

    INTERVAL, LATENCY, TIMEOUT = 24, 0, 400  # 30 ms, none, 4 s

    def __init__(self, stage: Stage):
        self.central, self.near = stage.central, stage.near
        name = "on_hci_le_remote_connection_parameter_request_reply_command"
        setattr(self.central, name, self.on_parameters_granted)
        self.near.device.on("connection", lambda connection: self.near.services.start(self.make(connection)))

    async def make(self, connection) -> None:
        link = next(iter(self.central.le_connections.values()), None)
        if link is None:
            return
        longest = dict(max_tx_octets=251, max_tx_time=2120, max_rx_octets=251, max_rx_time=2120)
        wishes = dict(interval_min=self.INTERVAL, interval_max=self.INTERVAL, max_latency=self.LATENCY)
        for event in (
            hci.HCI_LE_Data_Length_Change_Event(link.handle, **longest),
            hci.HCI_LE_PHY_Update_Complete_Event(status=0, connection_handle=link.handle, tx_phy=2, rx_phy=2),
            hci.HCI_LE_Remote_Connection_Parameter_Request_Event(link.handle, **wishes, timeout=self.TIMEOUT),
        ):
            self.central.send_hci_packet(event)
        # As those do that know no such request between controllers.
        await connection.update_parameters(30, 30, self.LATENCY, 4000, use_l2cap=True)

    def on_parameters_granted(self, command):
        self.central.send_hci_packet(
            hci.HCI_LE_Connection_Update_Complete_Event(
                status=0,
                connection_handle=command.connection_handle,
                connection_interval=command.interval_max,
                peripheral_latency=command.max_latency,
                supervision_timeout=command.timeout,
            )
        )
        return hci.HCI_StatusAndConnectionHandleReturnParameters(0, command.connection_handle)


async def demand(stage: Stage) -> None:
    Demands(stage)


async def take_another_address(stage: Stage) -> None:
    await stage.near.veil()


async def begin_hiding(stage: Stage) -> None:
    """Has another private address from each connection on: it advertises with that when the link has ended."""

    async def rename() -> None:
        device = stage.near.device
        address = hci.Address.generate_private_address(device.irk)
        await device.send_sync_command(hci.HCI_LE_Set_Random_Address_Command(random_address=address))
        device.random_address = address

    stage.near.device.on("connection", lambda _: stage.near.services.start(rename()))


class Chorus:
    """Advertisers beyond number who are only heard. They cost no controller each: the central's hears them sing."""

    def __init__(self, stage: Stage):
        self.central = stage.central
        flags = b"\x02\x01\x06"
        address = hci.Address.RANDOM_DEVICE_ADDRESS
        self.sender = stage.near.device.host.controller
        self.voices = itertools.cycle(
            ll.AdvNonConnInd(hci.Address(f"D0:00:00:00:00:{number:02X}", address), flags) for number in range(CROWD)
        )
        self.sing()

    def sing(self) -> None:
        self.central.on_advertisement(next(self.voices), self.sender)
        asyncio.get_running_loop().call_later(CROWD_SECONDS / CROWD, self.sing)


async def gather(stage: Stage) -> None:
    Chorus(stage)


def peer(name: str, what: str, **more) -> Profile:
    return Profile(name, what, is_peer=True, **more)


PROFILES = [
    peer("once in 6 s", "a peer that advertises once in 6 s", before=seldom),
    peer("once", "a peer that is heard once, and then silent", before=once),
    peer(
        "drops",
        "a peer whose first three connections end before the first packet (0x3E)",
        begin=begin_dropping,
        before=drop_three_of_four,
    ),
    peer("demanding", "a peer that asks for its own connection parameters, PHY and data length", begin=demand),
    peer(
        "private",
        "a peer whose private address changes while it is connected, and between",
        begin=begin_hiding,
        before=take_another_address,
        meets_identity=True,
    ),
    peer("crowded", f"{CROWD} others advertise", begin=gather),
]
