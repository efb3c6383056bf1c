"""Bumble's peripheral keeps its promises, seen by a thin client on a raw socket."""

import json
import struct

import pytest

from lab import names
from lab.att import LE_RANDOM, ATTError, Client
from lab.mgmt import POWERED_BIT, SET_POWERED, Management


@pytest.fixture
def client(bumble):
    with Client(names.CENTRAL, names.NEAR, LE_RANDOM) as client:
        client.exchange_mtu()
        client.handles = client.characteristics()
        yield client


def handle(client, uuid):
    return client.handles[names.full(uuid)]


def test_the_tree_is_what_the_peer_says(bumble, client):
    tree = json.loads(bumble.peer.command("tree"))
    assert client.handles == {c["uuid"]: c["handle"] for s in tree for c in s["characteristics"]}


def test_short_and_long_values_are_read(client):
    assert client.read(handle(client, names.BODY_SENSOR_LOCATION)) == b"\x01"
    assert client.read(handle(client, names.VALUE)) == names.VALUE_BYTES
    assert client.read_long(handle(client, names.LONG)) == names.LONG_BYTES


def test_writes_arrive_with_and_without_response(bumble, client):
    mark = bumble.peer.mark()
    client.write(handle(client, names.VALUE), b"\xaa\xbb")
    bumble.peer.wait("write", mark, char="value", hex="aabb")
    client.write_command(handle(client, names.VALUE), b"\xcc")
    bumble.peer.wait("write", mark, char="value", hex="cc")


def test_a_read_only_value_refuses_writes(client):
    with pytest.raises(ATTError) as error:
        client.write(handle(client, names.READ_ONLY), b"no")
    assert error.value.code == 0x03


def test_a_thousand_notifications_in_order(client):
    client.subscribe(handle(client, names.THOUSAND))
    client.until(lambda values: len(values) == 1000)
    assert [struct.unpack("<I", value)[0] for _, value in client.values] == list(range(1000))


def test_a_request_is_answered_between_a_thousand_notifications(client):
    """Behind all of them the answer would come after 30 s on a busy machine, and end the link."""
    client.subscribe(handle(client, names.THOUSAND))
    client.until(lambda values: values)
    assert client.read(handle(client, names.BODY_SENSOR_LOCATION)) == b"\x01"
    assert len(client.values) < 1000


def test_a_message_until_its_end_mark(client):
    client.subscribe(handle(client, names.MESSAGE))
    client.until(lambda values: values and values[-1][1] == names.END_MARK)
    assert b"".join(value for _, value in client.values[:-1]) == names.MESSAGE_BYTES


def test_notifications_that_come_before_the_write_response(client):
    client.subscribe(handle(client, names.EARLY))
    before = len(client.values)
    client.until(lambda values: len(values) == 5)
    assert before >= 3
    assert [value for _, value in client.values] == names.EARLY_VALUES


def test_indications_each_after_its_confirmation(bumble, client):
    client.subscribe(handle(client, names.INDICATED), indicate=True)
    client.until(lambda values: len(values) == names.INDICATIONS)
    bumble.peer.wait("confirmed", number=names.INDICATIONS - 1)
    assert [struct.unpack("<I", value)[0] for _, value in client.values] == list(range(names.INDICATIONS))


def test_a_read_that_is_never_answered(bumble, client):
    with pytest.raises(TimeoutError):
        client.read(handle(client, names.SILENT), within=1)
    bumble.peer.wait("read", char="silent")


def test_a_link_that_the_peer_drops(bumble, client):
    mark = bumble.peer.mark()
    client.subscribe(handle(client, names.BROKEN))
    with pytest.raises(ConnectionResetError):
        client.until(lambda values: False)
    sent = bumble.peer.wait("sent", mark, char="broken")
    bumble.peer.wait("disconnected", mark, reason="0x16")
    # What came before the end is still queued behind the error.
    while len(client.values) < int(sent.facts["count"]):
        client.step(deadline=0)
    assert sum(len(value) for _, value in client.values) == int(sent.facts["bytes"])


def test_a_link_that_is_lost(bumble, client):
    bumble.peer.command("lose")
    with pytest.raises(TimeoutError) as error:
        client.read(handle(client, names.VALUE))
    assert isinstance(error.value, OSError) and error.value.errno


@pytest.mark.parametrize("on", [True, False], ids=["on", "off"])
def test_an_adapter_that_somebody_else_switches_meanwhile(bumble, on):
    """As bluetoothd does at its start: the kernel is busy with that one's command, and the lab waits for what comes of it."""
    bumble.management.power(bumble.index, not on)
    somebody = Management()
    somebody.socket.send(struct.pack("<HHHB", SET_POWERED, bumble.index, 1, on))
    bumble.management.power(bumble.index, on)
    assert bool(bumble.management.settings(bumble.index) & POWERED_BIT) == on
    somebody.close()
