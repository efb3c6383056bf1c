"""A controller of Bluetooth 5: extended scanning, connecting and advertising, as Bumble's base class has them, with what
a kernel notices: the bits for legacy PDUs, the event of a connection, what a legacy set may hold."""

from __future__ import annotations

from bumble import hci, ll
from bumble.controller import AdvertisingSet

from peers import air
from peers.zoo.profile import Profile

CONNECTABLE, LEGACY = 1 << 0, 1 << 4
LEGACY_ROOM = 31
SETS = 5

Extended = hci.HCI_LE_Extended_Advertising_Report_Event
Kind = hci.HCI_LE_Advertising_Report_Event.EventType
LEGACY_BITS = {Kind.ADV_IND: 0b10011, Kind.ADV_NONCONN_IND: 0b10000, Kind.SCAN_RSP: 0b11011}

COMMANDS = {
    hci.HCI_LE_SET_EXTENDED_SCAN_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_SCAN_ENABLE_COMMAND,
    hci.HCI_LE_EXTENDED_CREATE_CONNECTION_COMMAND,
    hci.HCI_LE_SET_ADVERTISING_SET_RANDOM_ADDRESS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_PARAMETERS_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_DATA_COMMAND,
    hci.HCI_LE_SET_EXTENDED_SCAN_RESPONSE_DATA_COMMAND,
    hci.HCI_LE_SET_EXTENDED_ADVERTISING_ENABLE_COMMAND,
    hci.HCI_LE_READ_MAXIMUM_ADVERTISING_DATA_LENGTH_COMMAND,
    hci.HCI_LE_READ_NUMBER_OF_SUPPORTED_ADVERTISING_SETS_COMMAND,
    hci.HCI_LE_REMOVE_ADVERTISING_SET_COMMAND,
    hci.HCI_LE_CLEAR_ADVERTISING_SETS_COMMAND,
}


def properties(chosen: AdvertisingSet) -> int:
    return int(chosen.parameters.advertising_event_properties)


class Set(AdvertisingSet):
    """Sends legacy PDUs where it was told so."""

    def send_extended_advertising_data(self) -> None:
        if not properties(self) & LEGACY:
            return super().send_extended_advertising_data()
        kind = ll.AdvInd if properties(self) & CONNECTABLE else ll.AdvNonConnInd
        self.controller.send_advertising_pdu(kind(self.address, bytes(self.data)))


class ExtendedAdvertising(air.AirController):
    """Takes as much for a legacy set as a real controller does, and no more."""

    def __init__(self, name, *arguments, **more):
        super().__init__(name, *arguments, **more)
        self.le_features |= hci.LeFeatureMask.LE_EXTENDED_ADVERTISING

    def on_hci_le_set_extended_advertising_parameters_command(self, command):
        handle = command.advertising_handle
        self.advertising_sets.setdefault(handle, Set(controller=self, handle=handle))
        return super().on_hci_le_set_extended_advertising_parameters_command(command)

    def on_hci_le_set_extended_advertising_data_command(self, command):
        chosen = self.advertising_sets.get(command.advertising_handle)
        if chosen and properties(chosen) & LEGACY and len(command.advertising_data) > LEGACY_ROOM:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.INVALID_COMMAND_PARAMETERS_ERROR)
        return super().on_hci_le_set_extended_advertising_data_command(command)

    def on_hci_le_read_number_of_supported_advertising_sets_command(self, command):
        answer = super().on_hci_le_read_number_of_supported_advertising_sets_command(command)
        answer.num_supported_advertising_sets = SETS
        return answer


class Bluetooth5(air.CentralController, ExtendedAdvertising):
    supported_commands = air.CentralController.supported_commands | COMMANDS

    def refuse(self, _command):
        """A host that has begun with the new commands may not go on with the old ones (Core 6.0, Vol 4, Part E, 3.1.1)."""
        return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)

    on_hci_le_set_scan_enable_command = on_hci_le_set_scan_parameters_command = refuse
    on_hci_le_set_advertising_enable_command = on_hci_le_set_advertising_parameters_command = refuse

    def on_hci_le_set_extended_scan_parameters_command(self, command):
        if self.le_scan_enable:
            return hci.HCI_StatusReturnParameters(hci.HCI_ErrorCode.COMMAND_DISALLOWED_ERROR)
        self.le_scan_type = command.scan_types[0]
        return super().on_hci_le_set_extended_scan_parameters_command(command)

    def on_hci_le_set_extended_scan_enable_command(self, command):
        self.listening_changes(bool(command.enable))
        return super().on_hci_le_set_extended_scan_enable_command(command)

    def on_hci_le_extended_create_connection_command(self, command):
        self.on_connecting(command.peer_address)
        return super().on_hci_le_extended_create_connection_command(command)

    def report(self, kind, address, data, rssi):
        entry = Extended.Report(
            event_type=LEGACY_BITS[kind],
            address_type=address.address_type,
            address=address,
            primary_phy=hci.Phy.LE_1M,
            secondary_phy=0,
            advertising_sid=Extended.NO_ADI_FIELD_PROVIDED,
            tx_power=Extended.TX_POWER_INFORMATION_NOT_AVAILABLE,
            rssi=rssi,
            periodic_advertising_interval=0,
            direct_address_type=0,
            direct_address=hci.Address.ANY,
            data=bytes(data),
        )
        self.send_hci_packet(Extended([entry]))

    def send_hci_packet(self, packet):
        """A kernel that advertises by sets waits for the event that came with privacy, and for no other."""
        if isinstance(packet, hci.HCI_LE_Connection_Complete_Event):
            packet = hci.HCI_LE_Enhanced_Connection_Complete_Event(
                status=packet.status,
                connection_handle=packet.connection_handle,
                role=packet.role,
                peer_address_type=packet.peer_address_type,
                peer_address=packet.peer_address,
                local_resolvable_private_address=hci.Address.ANY,
                peer_resolvable_private_address=hci.Address.ANY,
                connection_interval=packet.connection_interval,
                peripheral_latency=packet.peripheral_latency,
                supervision_timeout=packet.supervision_timeout,
                central_clock_accuracy=packet.central_clock_accuracy,
            )
        super().send_hci_packet(packet)


PROFILES = [Profile("Bluetooth 5", "extended scanning, connecting and advertising, with 5 sets", Bluetooth5)]
