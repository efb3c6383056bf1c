"""What others record of what others do: BlueZ's btmon and Wireshark's dumpcap, while bluetoothd and bluetoothctl are the
central and Bumble is the peripheral. The package replays such recordings (Tests/BLEStreamsTests/Replay/Recordings)."""

import shutil

import pytest

from lab import captures, names
from lab.bluetoothctl import Bluetoothctl
from lab.world import OUT, Process, start_bluetoothd

FOLDER = OUT / "recordings"
VALUES = 3


@pytest.fixture
def bluetoothctl(bumble):
    """A person at bluetoothctl, whose bluetoothd has the adapter on Bumble's air."""
    bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
    bus.wait_line("unix:")
    daemon = start_bluetoothd()
    tool = Bluetoothctl("NoInputNoOutput", OUT / "bluetoothctl.log")
    tool.ask(f"select {names.CENTRAL}", "")
    yield tool
    tool.stop()
    daemon.stop()
    bus.stop()


def follow(tool: Bluetoothctl) -> None:
    """Finds the peripheral, reads a value, and is notified of others."""
    uuid = names.full(names.HEART_RATE_MEASUREMENT)
    tool.ask("scan le", f"Device {names.NEAR}")
    connected = tool.ask(f"connect {names.NEAR}", "Connection successful|ServicesResolved: yes")
    tool.wait("ServicesResolved: yes", connected.start())
    tool.ask("scan off", "Discovery stopped|Discovering: no")
    tool.type("menu gatt")
    place = tool.type(f"select-attribute {names.full(names.READ_ONLY)}")
    tool.ask("read", "72 65 61 64 20 6d 65")
    tool.type(f"select-attribute {uuid}")
    place = tool.type("notify on")
    for _ in range(VALUES):
        place = tool.wait(r"Attribute .* Value:", place).end()
    tool.ask("notify off", "Notify stopped")
    tool.type("back")
    tool.ask(f"disconnect {names.NEAR}", "Successful disconnected|Disconnection successful")


def test_btmon_and_wireshark_record_bluetoothctl(bumble, bluetoothctl):
    bumble.peer.command("silence", "off")
    FOLDER.mkdir(exist_ok=True)
    recorders = [Process("btmon", "stdbuf", "-oL", "btmon", "-w", str(FOLDER / "btmon.btsnoop"))]
    recorders[0].wait_line("monitor ver")
    if has_wireshark := bool(shutil.which("dumpcap")):
        file = FOLDER / "wireshark.pcapng"
        recorders.append(Process("dumpcap", "dumpcap", "-i", f"bluetooth{bumble.index}", "-w", str(file)))
        recorders[1].wait_line("File:")
    follow(bluetoothctl)
    for recorder in recorders:
        recorder.stop()
    text = captures.read_by_btmon(FOLDER / "btmon.btsnoop")
    assert text.count("ATT: Handle Value Notification") >= VALUES, text[-4000:]
    if not has_wireshark:
        pytest.skip("dumpcap is not installed (Debian: wireshark-common); btmon's recording was made")
