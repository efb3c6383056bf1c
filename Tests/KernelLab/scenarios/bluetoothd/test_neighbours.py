"""bluetoothd's own discovery beside `ble`: each gets its turn."""

import subprocess
import sys
import time

from lab import names
from lab.world import OUT, Process

PEER = names.BTVIRT_SERVER

CALL = ["dbus-send", "--system", "--print-reply", "--reply-timeout=60000", "--dest=org.bluez"]


def start_discovery(adapter: str) -> float:
    """How many seconds bluetoothd takes to answer StartDiscovery. Its discovery ends with the caller."""
    start = time.monotonic()
    subprocess.run([*CALL, f"/org/bluez/{adapter}", "org.bluez.Adapter1.StartDiscovery"], check=True, timeout=60)
    return time.monotonic() - start


def test_in_progress(ble, bluetoothd):
    """Two scans and a connection beside bluetoothd's own discovery, which goes on: nobody is told to come later."""
    client = Process("discovering", sys.executable, "-m", "peers.bluez_discovery", bluetoothd.adapter)
    try:
        client.wait_line("discovering")
        scans = [ble.start("scan", "--json") for _ in range(2)]
        for scan in scans:
            scan.wait_text(PEER)
        assert ble.good("read", PEER, names.BLUEZ_SHORT, "--json").values == [names.BLUEZ_SHORT_BYTES]
        for scan in scans:
            assert scan.status is None, scan
            scan.interrupt()
            assert scan.end().status == 130, scan
        for run in ble.runs:
            assert "progress" not in run.stderr and "busy" not in run.stderr, run
        assert client.process.poll() is None and "discovering ended\n" not in client.lines
    finally:
        client.stop()


def test_the_doctor_names_who_scans_and_holds_links(ble, bluetoothd):
    client = Process("discovering", sys.executable, "-m", "peers.bluez_discovery", bluetoothd.adapter)
    try:
        client.wait_line("discovering")
        run = ble.good("doctor", "--json")
        found = {record["finding"]: record for record in run.records if "finding" in record}
        assert "bluetoothd" in found["otherScan"]["cause"] and found["otherScan"]["severity"] == "note", run
    finally:
        client.stop()
    holder = ble.start("notify", PEER, names.BLUEZ_NOTIFY, "-v")
    holder.wait_text("connected to", "stderr")
    run = ble.good("doctor", "--json")
    found = {record["finding"]: record for record in run.records if "finding" in record}
    assert PEER in found["openLinks"]["cause"] and "bluetoothctl disconnect" in found["openLinks"]["remedy"], run
    holder.interrupt()
    holder.end()


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
