"""bluetoothd as a central, through its own client, against `ble serve`; it runs on our adapter too."""

import json
import struct

import pytest

from lab import names
from lab.ble import Ble
from lab.world import OUT

pytestmark = pytest.mark.program

DATA_RECEIVED = 5
EXCHANGE_MTU = 0x02
READ = 0x0A
REQUESTS = {0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x0E, 0x10, 0x12, 0x16, 0x18, 0x20}
ECHO_SERVICE = "7a1c0020-5f2b-4c8e-9d3a-6b70e14f2c55"
ECHO = "7a1c0021-5f2b-4c8e-9d3a-6b70e14f2c55"
LONG = bytes((i * 13 + i // 256) & 0xFF for i in range(512))


def test_discovery_reads_writes_and_notifications(bluetoothd_central, ble):
    peer = bluetoothd_central.peer
    with bluetoothd_central.serving(ble, "--profile", "echo") as served:
        peer.command(f"connect {bluetoothd_central.address}")
        # The newest listener has the link, and that is not bluetoothd.
        served.wait("connected")
        tree = json.loads(peer.command("tree"))
        assert ECHO in tree[ECHO_SERVICE], tree

        assert peer.command(f"read {ECHO}") == b"hello".hex()
        mark = peer.mark()
        peer.command(f"subscribe {ECHO}")
        served.wait("subscribed")
        peer.command(f"write {ECHO} 0a0b0c")
        served.wait("written", value="0a0b0c")
        peer.wait("notified", mark, hex="0a0b0c")

        peer.command(f"write {ECHO} {LONG.hex()}")
        served.wait("written", value=LONG.hex())
        assert peer.command(f"read {ECHO}") == LONG.hex()
        peer.command("disconnect")
        served.wait("disconnected")


def test_requests_before_the_first_value(bluetoothd_central, ble, tmp_path):
    """How many requests precede the one that asks for the value: of bluetoothd and of `ble`, new to us and known."""
    peer, address = bluetoothd_central.peer, bluetoothd_central.address
    capture = tmp_path / "serve.btsnoop"
    command = Ble(f"hci{bluetoothd_central.client}")
    ble.runs = command.runs
    with bluetoothd_central.serving(command, "--profile", "echo", "--capture", capture) as served:
        for _ in range(2):
            peer.command(f"connect {address}")
            peer.command(f"read {ECHO}")
            peer.command("disconnect")
            bluetoothd_central.wait_unconnected()
        for _ in range(2):
            command.good("read", f"{address}/public", ECHO)
            bluetoothd_central.wait_unconnected()
        assert len([event for event in served.events if event["event"] == "read"]) == 4
    pdus = received(capture)
    value = [pdu for pdu in pdus if pdu[0] == READ][-1]
    links: list[list[bytes]] = []
    for pdu in pdus:
        if pdu[0] == EXCHANGE_MTU:
            links.append([])
        links[-1].append(pdu)
    counts = [link.index(value) for link in links]
    (OUT / "requests.log").write_text(f"before the one for the value: bluetoothd {counts[:2]}, ble {counts[2:]}\n")
    assert counts[3] == 2 and counts[2] > 2, counts


def test_bluetoothd_hears_an_advertisement_change(bluetoothd_central, ble, tmp_path):
    peer, address = bluetoothd_central.peer, bluetoothd_central.address
    file = tmp_path / "temperature"
    file.write_text("21.5")
    with bluetoothd_central.serving(ble, "--profile", "echo", "--bthome", f"temperature=@{file}"):
        mark, uuid = peer.mark(), names.full("FCD2")
        peer.command(f"listen {address}")
        # BTHome's version, the object 0x02, and hundredths of a degree.
        peer.wait("heard", mark, uuid=uuid, data="40026608")
        file.write_text("22.25")
        peer.wait("heard", mark, uuid=uuid, data="4002b108")
        peer.command("hush")


def received(path) -> list[bytes]:
    """The ATT requests that came in, from a btsnoop file of the monitor's kind."""
    data, pdus, position = path.read_bytes(), [], 16
    while position < len(data):
        _, length, flags = struct.unpack_from(">III", data, position)
        record = data[position + 24 : position + 24 + length]
        position += 24 + length
        if flags & 0xFFFF == DATA_RECEIVED and record[8] in REQUESTS:
            pdus.append(record[8:])
    return pdus
