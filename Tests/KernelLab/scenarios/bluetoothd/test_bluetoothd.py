"""`ble` against bluetoothd's GATT server, with bluetoothd running on the client's adapter as well."""

from lab import names
from lab.att import LE_PUBLIC, Client
from lab.tree import characteristics_in, uuids_in

PEER = names.BTVIRT_SERVER


def test_info_prints_the_tree(ble, bluetoothd):
    with Client(names.BTVIRT_CLIENT, PEER, LE_PUBLIC) as client:
        client.exchange_mtu()
        expected = client.characteristics()
    bluetoothd.management.disconnect_all(bluetoothd.index)
    run = ble.good("info", PEER, "--json")
    printed = characteristics_in(run.records)
    assert {found.uuid: handle for handle, found in printed.items()} == expected, run
    assert names.full(names.BLUEZ_SERVICE) in uuids_in(run.records), run


def test_values_are_read(ble, bluetoothd):
    run = ble.good("read", PEER, names.BLUEZ_SHORT, "--json")
    assert run.values == [names.BLUEZ_SHORT_BYTES], run
    assert run.records[0]["text"] == names.BLUEZ_SHORT_BYTES.decode(), run
    assert ble.good("read", PEER, names.BLUEZ_LONG, "--json").values == [names.LONG_BYTES]


def test_a_write_arrives(ble, bluetoothd):
    ble.good("write", PEER, names.BLUEZ_SHORT, "0a0b0c")
    bluetoothd.peer.wait("write", bluetoothd.mark, char="short", hex="0a0b0c")


def test_notifications_arrive(ble, bluetoothd):
    run = ble.start("notify", PEER, names.BLUEZ_NOTIFY, "--count", "3", "--json")
    bluetoothd.peer.wait("cccd", bluetoothd.mark, char="notify", on=1)
    for number in range(3):
        bluetoothd.peer.command("notify", f"{number:02x}")
        run.wait_lines(number + 1)
    assert run.end().values == [b"\x00", b"\x01", b"\x02"], run
    bluetoothd.peer.wait("cccd", bluetoothd.mark, char="notify", on=0)
