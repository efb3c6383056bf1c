"""bluetoothd as a central, through its own client, against `ble serve`; it runs on our adapter too."""

import json

from lab import names

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
