"""Controllers that can less than the plain one: of Bluetooth 4.0, without long packets, with few buffers, slow."""

from __future__ import annotations

import asyncio
from collections import deque

from bumble import hci

from peers import air
from peers.zoo.profile import Profile

SECONDS_PER_COMMAND = 0.1
# An event of a connection of 30 ms lets one packet go in the worst case.
SECONDS_PER_PACKET = 0.03

LONGER_PACKETS = (
    hci.HCI_LE_SET_DATA_LENGTH_COMMAND,
    hci.HCI_LE_READ_SUGGESTED_DEFAULT_DATA_LENGTH_COMMAND,
    hci.HCI_LE_WRITE_SUGGESTED_DEFAULT_DATA_LENGTH_COMMAND,
    hci.HCI_LE_READ_MAXIMUM_DATA_LENGTH_COMMAND,
)
FASTER_RADIO = (hci.HCI_LE_READ_PHY_COMMAND, hci.HCI_LE_SET_DEFAULT_PHY_COMMAND, hci.HCI_LE_SET_PHY_COMMAND)
SINCE_4_1 = (
    hci.HCI_LE_REMOTE_CONNECTION_PARAMETER_REQUEST_REPLY_COMMAND,
    hci.HCI_LE_REMOTE_CONNECTION_PARAMETER_REQUEST_NEGATIVE_REPLY_COMMAND,
    hci.HCI_READ_AUTHENTICATED_PAYLOAD_TIMEOUT_COMMAND,
    hci.HCI_WRITE_AUTHENTICATED_PAYLOAD_TIMEOUT_COMMAND,
    hci.HCI_SET_EVENT_MASK_PAGE_2_COMMAND,
)


class ShortPackets(air.CentralController):
    """27 octets a packet, and one speed."""

    le_acl_data_packet_length = 27
    supported_max_tx_octets = supported_max_rx_octets = 27
    supported_commands = air.CentralController.supported_commands - {*LONGER_PACKETS, *FASTER_RADIO}

    def __init__(self, name, *arguments, **more):
        super().__init__(name, *arguments, **more)
        self.le_features &= ~(
            hci.LeFeatureMask.LE_DATA_PACKET_LENGTH_EXTENSION
            | hci.LeFeatureMask.LE_2M_PHY
            | hci.LeFeatureMask.LE_CODED_PHY
        )


class Legacy(ShortPackets):
    """Of Bluetooth 4.0, and nothing since."""

    hci_version = lmp_version = hci.HCI_VERSION_BLUETOOTH_CORE_4_0
    supported_commands = ShortPackets.supported_commands - {*SINCE_4_1}

    def __init__(self, name, *arguments, **more):
        super().__init__(name, *arguments, **more)
        self.le_features = hci.LeFeatureMask.LE_ENCRYPTION


class Slow(air.CentralController):
    """Takes its time for each command; data isn't held up."""

    def __init__(self, name, *arguments, **more):
        super().__init__(name, *arguments, **more)
        self.commands: deque[bytes] = deque()

    def on_packet(self, packet: bytes) -> None:
        if packet[0] != hci.HCI_COMMAND_PACKET:
            return super().on_packet(packet)
        self.commands.append(packet)
        if len(self.commands) == 1:
            self.work()

    def work(self) -> None:
        asyncio.get_running_loop().call_later(SECONDS_PER_COMMAND, self.carry_out)

    def carry_out(self) -> None:
        command = self.commands.popleft()
        if self.commands:
            self.work()
        super().on_packet(command)


class FewBuffers(air.CentralController):
    """Has so many buffers for data and no more; each is free when its packet has been on air."""

    total_num_le_acl_data_packets = 8

    def __init__(self, name, *arguments, **more):
        super().__init__(name, *arguments, **more)
        self.waiting: deque[hci.HCI_AclDataPacket] = deque()

    def on_hci_acl_data_packet(self, packet: hci.HCI_AclDataPacket) -> None:
        # More than there is room for is lost, as on a real one; the scenario then misses what was written.
        if len(self.waiting) >= self.total_num_le_acl_data_packets:
            return
        self.waiting.append(packet)
        if len(self.waiting) == 1:
            self.send_soon()

    def send_soon(self) -> None:
        asyncio.get_running_loop().call_later(SECONDS_PER_PACKET, self.send_first)

    def send_first(self) -> None:
        packet = self.waiting.popleft()
        if self.waiting:
            self.send_soon()
        # One for a link that has ended meanwhile is freed by its end, and counted by nobody.
        if self.find_connection_by_handle(packet.connection_handle):
            super().on_hci_acl_data_packet(packet)


class OneBuffer(FewBuffers, ShortPackets):
    total_num_le_acl_data_packets = 1


PROFILES = [
    Profile("legacy", "a controller of Bluetooth 4.0: legacy advertising, one speed, short packets", Legacy),
    Profile("short packets", "no data length extension, no 2M PHY", ShortPackets),
    Profile("slow", "takes 100 ms for each command", Slow),
    Profile("8 buffers", "8 buffers for data, each busy for 30 ms", FewBuffers),
    Profile("1 buffer", "1 buffer for data, of 27 octets, busy for 30 ms", OneBuffer),
]
