"""Bumble as a central against `ble serve`."""

import json

from lab import captures, names

ECHO_SERVICE = "7A1C0020-5F2B-4C8E-9D3A-6B70E14F2C55"
ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
TRANSFER = "7A1C0002-5F2B-4C8E-9D3A-6B70E14F2C55"
LONG = bytes((i * 13 + i // 256) & 0xFF for i in range(512))


def test_discovery_reads_writes_and_notifications(bumble_central, ble):
    peer = bumble_central.peer
    capture = captures.new("serve")
    with bumble_central.serving(ble, "--profile", "echo", "--capture", capture) as served:
        assert int(peer.command(f"connect 0 {bumble_central.address}")) == 517
        served.wait("connected")
        tree = json.loads(peer.command("tree 0"))
        assert names.full(ECHO) in tree[names.full(ECHO_SERVICE)], tree
        assert names.full("1801") in tree and names.full("1800") in tree

        assert peer.command(f"read 0 {ECHO}") == b"hello".hex()
        served.wait("read", value=b"hello".hex())
        mark = peer.mark()
        peer.command(f"subscribe 0 {ECHO}")
        served.wait("subscribed", kind="notifications")
        peer.command(f"write 0 {ECHO} 0a0b0c")
        served.wait("written", value="0a0b0c")
        peer.wait("notified", mark, hex="0a0b0c")
        peer.command(f"command 0 {ECHO} 0d")
        peer.wait("notified", mark, hex="0d")

        # 512 octets, both ways.
        peer.command(f"write 0 {ECHO} {LONG.hex()}")
        served.wait("written", value=LONG.hex())
        assert peer.command(f"read 0 {ECHO}") == LONG.hex()
        peer.command("disconnect 0")
        served.wait("disconnected")
    assert "ATT: Handle Value Notification" in captures.read_by_btmon(capture)


def test_a_transfer_arrives_whole(bumble_central, ble):
    peer = bumble_central.peer
    with bumble_central.serving(ble, "--profile", "transfer"):
        peer.command(f"connect 0 {bumble_central.address}")
        mark = peer.mark()
        peer.command(f"subscribe 0 {TRANSFER}")
        peer.wait("notified", mark, hex=b"EOM".hex())
        chunks = [bytes.fromhex(event.facts["hex"]) for event in peer.since(mark, "notified")]
        text = b"".join(chunks[:-1]).decode()
        assert text == "".join(f"Line {n} of a message that doesn't fit into one notification.\n" for n in range(1, 41))


def test_ctrl_c_drops_the_link_and_ends_the_advertising(bumble_central, ble):
    peer = bumble_central.peer
    mark = peer.mark()
    with bumble_central.serving(ble) as served:
        peer.command(f"connect 0 {bumble_central.address}")
        peer.command("subscribe 0 2A37")
        peer.wait("notified", mark)
        served.wait("subscribed")
    peer.wait("disconnected", mark)
