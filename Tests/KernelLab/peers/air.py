"""The air: a kernel adapter through the guest's /dev/vhci and any number of Bumble hosts, joined in this process.

Bumble's controllers and link are used as they are but for what a kernel, or a scenario, would notice:
data from a central with a public address is lost, scan responses, signal strength and passive scanning don't exist,
a cancelled connection attempt never ends, and both sides see the same reason for a disconnection.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from bumble import hci, ll
from bumble.controller import Controller, LegacyAdvertiser
from bumble.core import PhysicalTransport
from bumble.host import Host
from bumble.link import LocalLink

from peers.outside import Device, outside

VENDOR_PACKET = 0xFF
EXTERNAL_CONFIGURATION = 0x40  # of /dev/vhci: the adapter is unconfigured until somebody says that it is not
NO_ADDRESS = hci.Address("00:00:00:00:00:00")
GHOST_SECONDS = 0.2  # after the beginning of a scan: not while the kernel is still setting it up
Report = hci.HCI_LE_Advertising_Report_Event
Connectable = hci.HCI_LE_Set_Advertising_Parameters_Command.AdvertisingType.ADV_IND


class Link(LocalLink):
    """Finds controllers by their addresses, and names a sender by the address its connection was made with."""

    unheard: hci.Address | None = None  # nothing that this one sends on a link arrives
    listener = None  # who hears all that is said on links (peers/listener.py)

    def find_le_controller(self, address):
        """By the address of a link first: a controller may have been given another one since."""
        return next(
            (c for c in self.controllers if any(link.self_address == address for link in c.le_connections.values())),
            None,
        ) or next((c for c in self.controllers if address in (c.random_address, c.public_address)), None)

    def send_advertising_pdu(self, sender, packet):
        """A request to connect follows its advertisement at once: who stops advertising in between would be thought to be
        connected, for ever."""
        if not isinstance(packet, ll.ConnectInd):
            return super().send_advertising_pdu(sender, packet)
        for controller in self.controllers:
            if controller != sender:
                controller.on_ll_advertising_pdu(packet)

    def send_acl_data(self, sender, destination, transport, data):
        if transport != PhysicalTransport.LE:
            return super().send_acl_data(sender, destination, transport, data)
        connection = sender.le_connections.get(destination)
        receiver = self.find_le_controller(destination)
        if connection and connection.self_address == self.unheard:
            return
        if connection and receiver:
            if self.listener:
                self.listener.hear(connection.self_address, destination, data)
            loop = asyncio.get_running_loop()
            loop.call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)

    def send_ll_control_pdu(self, sender_address, receiver_address, packet):
        if self.listener:
            self.listener.hear_control(packet)
        super().send_ll_control_pdu(sender_address, receiver_address, packet)

    def lose(self, address, reason=hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR) -> bool:
        """Breaks the link to the peripheral: nobody said goodbye, and both controllers notice for this reason."""
        peripheral = self.find_le_controller(address)
        connection = peripheral and next(iter(peripheral.le_connections.values()), None)
        if not connection:
            return False
        central = self.find_le_controller(connection.peer_address)
        central.on_le_disconnected(central.le_connections[connection.self_address], reason)
        peripheral.on_le_disconnected(connection, reason)
        return True


class Advertiser(LegacyAdvertiser):
    """Advertises what can't be connected to as well, and as seldom as a scenario wants."""

    interval: float | None = None  # seconds; None: what the host has set

    def _on_timer_fired(self):
        if self.interval is None:
            return super()._on_timer_fired()
        self.send_advertising_data()
        self.wait()

    def wait(self):
        """Starts the interval anew; where there is none, advertises at once."""
        if self.enabled:
            self.start()
            if self.interval is not None:
                self.timer_handle.cancel()
                self.timer_handle = asyncio.get_running_loop().call_later(self.interval, self._on_timer_fired)

    def send_advertising_data(self):
        if self.enabled and self.advertising_type != Connectable:
            self.controller.send_advertising_pdu(ll.AdvNonConnInd(self.address, self.advertising_data))
        else:
            super().send_advertising_data()


class AirController(Controller):
    """A 4.2 controller: legacy advertising only, which is what Bumble emulates consistently; long packets."""

    rssi = -50
    le_acl_data_packet_length = 251
    supported_max_tx_octets = supported_max_rx_octets = 251

    def __init__(self, name, **arguments):
        super().__init__(name, **arguments)
        self.le_features &= ~(
            hci.LeFeatureMask.LL_PRIVACY
            | hci.LeFeatureMask.LE_EXTENDED_ADVERTISING
            | hci.LeFeatureMask.LE_PERIODIC_ADVERTISING
        )
        self.le_legacy_advertiser = Advertiser(self)

    def send_hci_packet(self, packet):
        """A packet of a host outside the guest is complete when the guest has come to it: then the host sends further ones."""
        if isinstance(packet, hci.HCI_Number_Of_Completed_Packets_Event) and isinstance(self.host, Host):
            outside().air.carry(lambda: super(AirController, self).send_hci_packet(packet))
        else:
            super().send_hci_packet(packet)

    def claim_simple_pairing(self, on: bool):
        """As controllers do that have classic Bluetooth too: without it the kernel makes no out-of-band data. It asks when the
        adapter is switched on."""
        feature = hci.LmpFeatureMask.SECURE_SIMPLE_PAIRING_CONTROLLER_SUPPORT
        self.lmp_features = self.lmp_features | feature if on else self.lmp_features & ~feature

    def unplug(self):
        """Takes it away from its host; whoever it is connected to finds its links lost."""
        self.kernel.unplug()
        self.le_legacy_advertiser.stop()
        for connection in list(self.le_connections.values()):
            central = self.link.find_le_controller(connection.peer_address)
            reason = hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR
            central.on_le_disconnected(central.le_connections[connection.self_address], reason)
            self.on_le_disconnected(connection, reason)

    def on_ll_advertising_pdu(self, packet):
        if isinstance(packet, ll.ConnectInd):
            super().on_ll_advertising_pdu(packet)

    def on_hci_disconnect_command(self, command):
        """The side that asked sees 0x16, the other one the reason that was given."""
        connection = self.find_le_connection_by_handle(command.connection_handle)
        if connection is None:
            return super().on_hci_disconnect_command(command)
        self._send_hci_command_status(hci.HCI_COMMAND_STATUS_PENDING, command.op_code)
        connection.send_ll_control_pdu(ll.TerminateInd(command.reason))
        self.on_le_disconnected(connection, hci.HCI_ErrorCode.CONNECTION_TERMINATED_BY_LOCAL_HOST_ERROR)


@dataclass(frozen=True)
class Ghost:
    """Who is heard once, and never again."""

    address: hci.Address
    data: bytes = b"\x02\x01\x06"
    response: bytes | None = None


class CentralController(AirController):
    """Scans and connects, and is connected to. `on_scanning(on, active)` hears when the radio begins or ends to listen.

    Honours the scanner's filter of duplicates: what it has reported it reports again only when scanning is enabled anew.
    `on_meddling(opcode)` hears of commands that come while it makes a connection.
    """

    def __init__(self, name, on_scanning, on_connecting=lambda peer: None, **arguments):
        self.reported: set[tuple[hci.Address, bytes]] = set()
        self.on_scanning = on_scanning
        self.on_connecting = on_connecting
        self.on_meddling = lambda opcode: None
        self.ghosts: list[Ghost] = []
        super().__init__(name, **arguments)

    def on_ll_advertising_pdu(self, packet):
        if isinstance(packet, ll.AdvInd | ll.AdvNonConnInd):
            self.on_advertisement(packet, self.link.find_le_controller(packet.advertiser_address))
        else:
            super().on_ll_advertising_pdu(packet)

    def on_advertisement(self, packet, sender):
        connectable = isinstance(packet, ll.AdvInd)
        if self.le_scan_enable and not self.is_duplicate(packet):
            kind = Report.EventType.ADV_IND if connectable else Report.EventType.ADV_NONCONN_IND
            self.report(kind, packet.advertiser_address, packet.data, sender.rssi)
            if self.le_scan_type == 1 and connectable:
                response = sender.le_legacy_advertiser.scan_response_data
                self.report(Report.EventType.SCAN_RSP, packet.advertiser_address, response, sender.rssi)
        wanted = self.pending_le_connection
        is_there = sender.le_legacy_advertiser.enabled or any(set.enabled for set in sender.advertising_sets.values())
        if connectable and is_there and wanted and wanted.peer_address == packet.advertiser_address:
            self.create_le_connection(packet.advertiser_address)

    def is_duplicate(self, packet) -> bool:
        key = (packet.advertiser_address, bytes(packet.data))
        known = self.filter_duplicates and key in self.reported
        self.reported.add(key)
        return known

    def report(self, kind, address, data, rssi):
        entry = Report.Report(
            event_type=kind, address_type=address.address_type, address=address, data=bytes(data), rssi=rssi
        )
        self.send_hci_packet(Report([entry]))

    def on_hci_reset_command(self, command):
        """Bumble's goes on scanning, and then refuses the kernel's parameters for the next scan; and it keeps its links.

        A kernel that is blocked may reset a controller without ending its links first: the peers lose them silently.
        """
        self.forget_links()
        self.le_scan_enable = False
        self.pending_le_connection = None
        self.random_address = NO_ADDRESS
        return super().on_hci_reset_command(command)

    def forget_links(self):
        links, self.le_connections = list(self.le_connections.values()), {}
        for link in links:
            peer = self.link.find_le_controller(link.peer_address)
            theirs = peer and peer.le_connections.get(link.self_address)
            if theirs:
                peer.on_le_disconnected(theirs, hci.HCI_ErrorCode.CONNECTION_TIMEOUT_ERROR)

    def on_packet(self, packet):
        if packet[0] == hci.HCI_COMMAND_PACKET and self.pending_le_connection:
            self.on_meddling(int.from_bytes(packet[1:3], "little"))
        return super().on_packet(packet)

    def on_hci_le_set_scan_enable_command(self, command):
        """Nobody scans under a random address that was never set (Core Specification, Vol 4, Part E, 7.8.11)."""
        is_nameless = self.le_scan_own_address_type == hci.AddressType.RANDOM_DEVICE and self.random_address == NO_ADDRESS
        if command.le_scan_enable and is_nameless:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.INVALID_COMMAND_PARAMETERS_ERROR)
        self.listening_changes(bool(command.le_scan_enable))
        return super().on_hci_le_set_scan_enable_command(command)

    def listening_changes(self, on: bool) -> None:
        self.reported.clear()
        if on != self.le_scan_enable:
            self.on_scanning(int(on), self.le_scan_type)
        if on:
            asyncio.get_running_loop().call_later(GHOST_SECONDS, self.hear_ghosts)

    def hear_ghosts(self):
        """A single advertisement of each who has left then, heard by whoever listens at this moment or next."""
        if self.le_scan_enable:
            ghosts, self.ghosts = self.ghosts, []
            for ghost in ghosts:
                self.report(Report.EventType.ADV_IND, ghost.address, ghost.data, self.rssi)
                if ghost.response is not None and self.le_scan_type == 1:
                    self.report(Report.EventType.SCAN_RSP, ghost.address, ghost.response, self.rssi)

    def on_hci_le_create_connection_command(self, command):
        self.on_connecting(command.peer_address)
        return super().on_hci_le_create_connection_command(command)

    def on_hci_le_create_connection_cancel_command(self, command):
        attempt, self.pending_le_connection = self.pending_le_connection, None
        if attempt is None:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        asyncio.get_running_loop().call_soon(
            self.send_hci_packet,
            hci.HCI_LE_Connection_Complete_Event(
                status=hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
                connection_handle=0,
                role=hci.Role.CENTRAL,
                peer_address_type=attempt.peer_address_type,
                peer_address=attempt.peer_address,
                connection_interval=0,
                peripheral_latency=0,
                supervision_timeout=0,
                central_clock_accuracy=0,
            ),
        )
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.SUCCESS)

    def on_hci_read_rssi_command(self, command):
        connection = self.find_le_connection_by_handle(command.handle)
        peer = connection and self.link.find_le_controller(connection.peer_address)
        return hci.HCI_Read_RSSI_ReturnParameters(
            status=hci.HCI_ErrorCode.SUCCESS if peer else hci.HCI_ErrorCode.UNKNOWN_CONNECTION_IDENTIFIER_ERROR,
            handle=command.handle,
            rssi=peer.rssi if peer else 0,
        )

    def on_hci_read_transmit_power_level_command(self, command):
        """Bumble leaves it unanswered, and the kernel then has no answer to Get Connection Information."""
        head = hci.HCI_EVENT_PACKET, hci.HCI_COMMAND_COMPLETE_EVENT, 7, 1
        opcode = command.op_code.to_bytes(2, "little")
        self.host.on_packet(bytes([*head, *opcode, hci.HCI_ErrorCode.SUCCESS, *command.parameters[:2], 0]))


class KernelHost:
    """The kernel as a host: HCI packets to and from the guest's /dev/vhci, one per read and write. Can be unplugged.

    The adapter's number, `index`, is there as soon as the kernel has told it.
    """

    def __init__(self, is_plugged: bool = True):
        self.sink = None
        self.device: Device | None = None
        if is_plugged:
            self.plug()

    def plug(self, options=0):
        """With options for /dev/vhci (drivers/bluetooth/hci_vhci.c, __vhci_create_device)."""
        self.index = asyncio.get_running_loop().create_future()
        self.device = outside().open("vhci", self.take, options)

    def unplug(self):
        if self.device:
            self.device.close()
        self.device = None

    @property
    def is_plugged(self) -> bool:
        return self.device is not None

    def set_packet_sink(self, sink):
        self.sink = sink

    def on_packet(self, packet):
        if self.device:
            self.device.write(packet)

    def take(self, packet):
        if packet[0] == VENDOR_PACKET:
            self.index.set_result(packet[2] | packet[3] << 8)
        else:
            self.sink.on_packet(packet)


class KernelController:
    """An adapter of the kernel's, which is powered off, as the controller of a host of Bumble's."""

    def __init__(self, adapter: int):
        self.sink = None
        self.device = outside().open("user-channel", lambda packet: self.sink.on_packet(packet), adapter)

    def set_packet_sink(self, sink):
        self.sink = sink

    def on_packet(self, packet):
        self.device.write(packet)


def kernel_adapter(
    link: Link,
    address: str,
    on_scanning,
    on_connecting,
    kind: type[CentralController] = CentralController,
    is_plugged: bool = True,
) -> CentralController:
    """Makes an adapter of the kernel whose controller is on the link."""
    kernel = KernelHost(is_plugged)
    controller = kind(
        "central",
        on_scanning,
        on_connecting,
        host_source=kernel,
        host_sink=kernel,
        link=link,
        public_address=f"{address}/P",
    )
    controller.kernel = kernel
    return controller


def kernel_peripheral(link: Link, address: str) -> AirController:
    """Makes an adapter of the kernel on the link, for the kernel to be a peripheral on."""
    kernel = KernelHost()
    controller = AirController(
        "peripheral", host_source=kernel, host_sink=kernel, link=link, public_address=f"{address}/P"
    )
    controller.kernel = kernel
    return controller


def bumble_central(link: Link, name: str) -> Host:
    """A host with a controller of its own on the link, which scans and connects."""
    host = Host()
    controller = CentralController(name, lambda on, active: None, link=link)
    host.controller = controller
    controller.host = host
    return host


def bumble_host(link: Link, name: str, rssi: int) -> Host:
    """A host with a controller of its own on the link, heard by the central at `rssi` dBm."""
    host = Host()
    controller = AirController(name, link=link)
    controller.rssi = rssi
    host.controller = controller
    controller.host = host
    return host
