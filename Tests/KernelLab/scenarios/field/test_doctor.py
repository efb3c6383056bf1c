"""`ble doctor`: each fault that can be made here is named, with a remedy that mends it."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from lab import names
from lab.ble import PROGRAM, Ble
from lab.rfkill import RFKILL, blocked


def findings(run) -> dict[str, dict]:
    """What it found, by name, of each the most severe; the last line counts all."""
    found: dict[str, dict] = {}
    for record in run.records:
        if "finding" in record:
            found.setdefault(record["finding"], record)
    end = run.records[-1]
    assert end["findings"] >= len(found), run
    assert end["usable"] == (run.status == 0), run
    assert all(record["remedy"] for record in found.values()), run
    return found


def examine(ble, status: int) -> dict[str, dict]:
    run = ble("doctor", "--json")
    assert run.status == status and run.stderr == "", run
    return findings(run)


def obstacles(found: dict[str, dict]) -> set[str]:
    return {name for name, record in found.items() if record["severity"] == "obstacle"}


def test_all_is_well(ble, bumble):
    found = examine(ble, 0)
    assert obstacles(found) == set()
    assert set(found) <= {"kernelFault"}, found
    assert ("kernelFault" in found) == (os.environ["LAB_KERNEL"] == "6.1"), found


def test_switched_off_and_its_remedy(ble, bumble):
    bumble.management.power(bumble.index, False)
    try:
        found = examine(ble, 1)
        assert obstacles(found) == {"poweredOff"}, found
        assert "`ble adapter on`" in found["poweredOff"]["remedy"], found
        ble.good("adapter", "on")
        assert obstacles(examine(ble, 0)) == set()
    finally:
        bumble.management.power(bumble.index, True)


@pytest.mark.skipif(not RFKILL.exists(), reason="this kernel was booted without rfkill")
def test_rfkill(ble, bumble):
    try:
        with blocked(bumble.index):
            found = examine(ble, 1)
            assert obstacles(found) == {"blocked"}, found
            assert "rfkill unblock bluetooth" in found["blocked"]["remedy"], found
            ble.bad("adapter", "on", status=1, says=["rfkill unblock bluetooth"])
    finally:
        bumble.management.power(bumble.index, True)


def test_no_capability_and_its_remedy(ble, bumble):
    somebody = ble.unprivileged()
    found = examine(somebody, 1)
    # Somebody's home isn't there either.
    assert obstacles(found) - {"unusableStore"} == {"missingCapability"}, found
    command = re.search(r"setcap +'[^']+' +[^\"]+", found["missingCapability"]["remedy"]).group()
    subprocess.run(shlex.split(command), check=True)
    try:
        assert "missingCapability" not in obstacles(findings(somebody("doctor", "--json")))
    finally:
        subprocess.run(["setcap", "-r", PROGRAM], check=True)


def test_an_open_link(ble, bumble):
    holder = ble.start("notify", names.NEAR, "2A37", "--json")
    holder.wait_lines()
    found = examine(ble, 0)
    assert found["openLinks"]["severity"] == "note" and names.NEAR in found["openLinks"]["cause"], found
    holder.interrupt()
    holder.end()
    bumble.wait_silence()
    assert "openLinks" not in examine(ble, 0)


def test_a_store_that_is_read_only(ble, bumble, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(tmp_path)], check=True)
    try:
        found = examine(ble, 1)
        assert obstacles(found) == {"unusableStore"}, found
        assert str(tmp_path) in found["unusableStore"]["object"], found
        assert "Read-only" in found["unusableStore"]["cause"], found
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_store_of_another_user(ble, bumble, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    folder = tmp_path / "blestreams"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    found = examine(ble, 1)
    assert obstacles(found) == {"unusableStore"}, found
    remedy = re.search(r"`(chown[^`]+)`", found["unusableStore"]["remedy"]).group(1)
    subprocess.run(shlex.split(remedy), check=True)
    assert "unusableStore" not in examine(ble, 0)


def test_an_adapter_without_an_address(ble, bumble):
    bumble.peer.command("unplug")
    bumble.peer.command("plug", "unconfigured")
    try:
        adapter = Ble(f"hci{bumble.management.wait_unconfigured()}")
        ble.runs = adapter.runs
        found = examine(adapter, 1)
        assert obstacles(found) == {"notReady"}, found
        assert "public-addr" in found["notReady"]["remedy"], found
    finally:
        bumble.peer.command("unplug")
        bumble.peer.command("plug")
        bumble.index = bumble.management.index_of(names.CENTRAL)
        bumble.management.power(bumble.index, True)
