"""bluetoothd's GATT application keeps its promises, seen by a thin client on a raw socket."""

import pytest

from lab import names
from lab.att import LE_PUBLIC, Client


@pytest.fixture
def client(bluetoothd):
    with Client(names.BTVIRT_CLIENT, names.BTVIRT_SERVER, LE_PUBLIC) as client:
        client.exchange_mtu()
        client.handles = client.characteristics()
        yield client


def test_values_are_read(client):
    assert client.read(client.handles[names.full(names.BLUEZ_SHORT)]) == names.BLUEZ_SHORT_BYTES
    assert client.read_long(client.handles[names.full(names.BLUEZ_LONG)]) == names.LONG_BYTES


def test_a_write_arrives(bluetoothd, client):
    mark = bluetoothd.peer.mark()
    client.write(client.handles[names.full(names.BLUEZ_SHORT)], b"\x01\x02")
    bluetoothd.peer.wait("write", mark, hex="0102")
