"""Somebody without capabilities: what works, what does not, and that the remedy which is printed is one."""

import re
import shlex
import subprocess

from lab import names
from lab.ble import PROGRAM

SCAN = ("scan", "--json", "--service", "180D", "--count", "1", "--timeout", "90")


def test_reading_by_address_works(ble, bumble):
    run = ble.unprivileged().good("read", names.NEAR, "2A38", "--json")
    assert run.values == [b"\x01"], run


def test_notifications_work(ble, bumble):
    run = ble.unprivileged().good("notify", names.NEAR, names.THOUSAND, "--count", "1000", "--json")
    assert len(run.values) == 1000, run


def test_scanning_says_what_is_missing(ble, bumble):
    ble.unprivileged().bad(*SCAN, status=1, says=["cap_net_admin", "setcap"])


def test_the_remedy_helps(ble, bumble):
    somebody = ble.unprivileged()
    run = somebody.bad(*SCAN, status=1)
    remedy = re.search(r"setcap +('[^']+'|[\w+=]+) +('[^']+'|[\w/.+-]+)", run.stderr)
    assert remedy, f"no command to grant it\n{run}"
    subprocess.run(shlex.split(remedy.group()), check=True)
    try:
        assert [sighting["address"] for sighting in somebody.good(*SCAN).sightings] == [names.NEAR]
    finally:
        # The next scenarios have the rights that they name.
        subprocess.run(["setcap", "-r", PROGRAM], check=True)


def scan_by_hci(ble, bumble):
    """How the radio listened for somebody who may scan by raw HCI commands alone."""
    mark = bumble.peer.mark()
    run = ble.unprivileged("net_raw").good(*SCAN)
    assert [sighting["address"] for sighting in run.sightings] == [names.NEAR], run
    bumble.wait_silence()
    facts = bumble.peer.wait("scanning", mark, on=1).facts
    return facts["active"], facts["own"]


def test_a_scan_by_hci_keeps_the_address_to_itself(ble, bumble):
    assert scan_by_hci(ble, bumble) == ("1", "public")
    bumble.management.privacy(bumble.index, True)
    try:
        # The kernel has set no private address yet.
        active, _ = scan_by_hci(ble, bumble)
        assert active == "0"
        ble.good(*SCAN)
        bumble.wait_silence()
        assert scan_by_hci(ble, bumble) == ("1", "random")
    finally:
        bumble.management.privacy(bumble.index, False)


def test_a_scan_by_hci_does_not_meddle_with_a_connect(ble, bumble):
    """The kernel would take the end of any command for that of its attempt."""
    # Its next advertisement, with which it is connected to, comes so much later than the one that it is heard by: in less than
    # any kernel gives an attempt.
    bumble.peer.command("seldom", "2.5")
    # What it does to be that takes a while.
    somebody = ble.unprivileged("net_raw")
    try:
        mark = bumble.peer.mark()
        connecting = ble.start("read", f"{names.NEAR}/random", "2A00", "--timeout", "60")
        bumble.peer.wait("connecting", mark, peer=names.NEAR)
        run = somebody.good("scan", "--json", "--count", "1", "--timeout", "90")
        assert run.sightings, run
        assert connecting.end().status == 0, connecting
        assert not bumble.peer.since(mark, "meddled")
        bumble.wait_silence()
    finally:
        bumble.peer.command("seldom", "0")
