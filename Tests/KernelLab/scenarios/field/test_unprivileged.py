"""Somebody without capabilities: what works, what does not, and that the remedy which is printed is one."""

import re
import shlex
import subprocess

from lab import names

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
    assert [sighting["address"] for sighting in somebody.good(*SCAN).sightings] == [names.NEAR]
