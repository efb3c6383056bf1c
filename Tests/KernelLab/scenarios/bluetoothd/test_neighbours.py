"""bluetoothd's own discovery beside `ble scan`: it gets its turn."""

import subprocess
import time

from lab.world import OUT

CALL = ["dbus-send", "--system", "--print-reply", "--reply-timeout=60000", "--dest=org.bluez"]


def start_discovery(adapter: str) -> float:
    """How many seconds bluetoothd takes to answer StartDiscovery. Its discovery ends with the caller."""
    start = time.monotonic()
    subprocess.run([*CALL, f"/org/bluez/{adapter}", "org.bluez.Adapter1.StartDiscovery"], check=True, timeout=60)
    return time.monotonic() - start


def test_start_discovery_has_its_turn_beside_a_scan(ble, bluetoothd):
    run = ble.start("scan", "--json")
    bluetoothd.management.wait_discovering(bluetoothd.index, on=True)
    seconds = start_discovery(bluetoothd.adapter)
    with (OUT / "neighbours.log").open("a") as log:
        print(f"StartDiscovery beside ble scan: {seconds:.1f} s", file=log)
    # What D-Bus waits for an answer, unless it is told otherwise.
    assert seconds < 25
    run.interrupt()
    run.end()
