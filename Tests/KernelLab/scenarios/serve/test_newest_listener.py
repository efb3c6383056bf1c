"""`ble serve` and a bluetoothd that is started after it: of those who listen the kernel gives a link to the newest."""

from lab.world import Process

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
DAEMON = ("/usr/libexec/bluetooth/bluetoothd", "--nodetach", "--debug=src/adapter.c")


def test_centrals_come_to_it_also_after_a_bluetoothd_has_started(bumble_centrals, dbus, ble):
    """A bluetoothd that finds nothing to change on the adapter is known by the first central that it takes."""
    peer = bumble_centrals.peer
    with bumble_centrals.serving(ble, "--profile", "echo") as served:
        daemon = Process("bluetoothd", *DAEMON)
        try:
            daemon.wait_line(f"LTKs loaded for hci{bumble_centrals.index}")
            served.take(bumble_centrals)
            assert peer.command(f"read 0 {ECHO}") == b"hello".hex()
        finally:
            # One that ends as it should switches the adapter off that it has switched on.
            daemon.process.kill()
            daemon.stop()
