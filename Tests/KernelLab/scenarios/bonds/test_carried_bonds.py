"""Bonds that are carried over: from bluetoothd's own files, and from one store to another."""

import base64
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lab import names
from lab.leaks import Witness, leaks, secrets
from lab.neighbour import Neighbour
from lab.peer import Peer
from lab.world import RUN, Process, start_bluetoothd

THEIRS = Path("/var/lib/bluetooth")


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after; answers the folder in which the command keeps its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "ours"))
    for folder in THEIRS.iterdir():
        shutil.rmtree(folder)
    yield tmp_path
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


@pytest.fixture
def bonded_by_bluetoothd(bumble, strangers):
    """A program has had bluetoothd pair with the peripheral; both have gone, and the kernel knows no key any more."""
    processes = []
    Path("/run/dbus").mkdir(exist_ok=True)

    def bond(*words: str) -> None:
        bumble.peer.command(" ".join(["manner", "none", *words]))
        bus = Process("dbus", "dbus-daemon", "--system", "--nofork", "--nopidfile", "--print-address=1")
        processes.append(bus)
        bus.wait_line("unix:")
        daemon = start_bluetoothd("--debug=src/adapter.c")
        processes.append(daemon)
        daemon.wait_line(f"LTKs loaded for hci{bumble.index}")
        bumble.management.power(bumble.index, True)
        path = str(RUN / "theirs.sock")
        program = Process("theirs", sys.executable, "-m", "peers.bluez_neighbour", path, f"hci{bumble.index}")
        processes.append(program)
        program.wait_line(" ready ")
        theirs = Peer(path)
        theirs.command(f"bond {names.NEAR}")
        theirs.close()
        while processes:
            processes.pop().stop()
        bumble.management.power(bumble.index, True)
        bumble.management.disconnect_all(bumble.index)
        bumble.management.forget_keys(bumble.index)
        bumble.wait_silence()

    yield bond
    while processes:
        processes.pop().stop()
    bumble.management.power(bumble.index, True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("words", [[], ["legacy"]], ids=["secure", "legacy"])
def test_bonds_of_bluetoothd_are_imported_and_encrypt_links_without_it(ble, bumble, bonded_by_bluetoothd, words):
    bonded_by_bluetoothd(*words)
    before = contents(THEIRS)
    assert any(path.endswith(f"{names.NEAR}/info") for path in before), before.keys()
    assert ble.good("bonds", "--json").records == []
    imported = ble.good("bonds", "import", "--bluetoothd", "--json").records
    assert [bond["address"] for bond in imported] == [names.NEAR]
    assert ble.good("bonds", "--json").records == imported
    witness = Witness()
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    witness.hear()
    assert not witness.keys, "it was not paired with again"
    witness.close()
    assert contents(THEIRS) == before, "bluetoothd's own files are only read"


def test_who_pairs_where_bluetoothd_has_the_bond_is_told_what_is_missing(ble, bumble, strangers):
    """The kernel has bluetoothd's keys, and pairs with nobody again; the next links need a bond of our own."""
    neighbour = Neighbour(bumble.management, bumble.index)
    path = str(RUN / "theirs.sock")
    try:
        neighbour.start()
        program = Process("theirs", sys.executable, "-m", "peers.bluez_neighbour", path, f"hci{bumble.index}")
        program.wait_line(" ready ")
        theirs = Peer(path)
        theirs.command(f"bond {names.NEAR}")
        theirs.command("disconnect")
        bumble.wait_silence()
        run = ble.good("pair", names.NEAR)
        assert "no bond is stored" in run.stderr and "ble bonds import --bluetoothd" in run.stderr, run
        ble.bad("read", names.NEAR, names.SECRET, status=1, says=["ble pair"])
        ble.good("bonds", "import", "--bluetoothd")
        assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
        theirs.close()
        program.stop()
    finally:
        neighbour.stop()


def test_bonds_of_bluetoothd_take_root(ble, bumble, bonded_by_bluetoothd):
    bonded_by_bluetoothd()
    ble.unprivileged("net_admin").bad("bonds", "import", "--bluetoothd", status=1, says=["root", str(THEIRS)])


def test_bonds_are_exported_once_and_imported_by_another_user(ble, bumble, strangers, monkeypatch):
    ble.good("pair", names.NEAR)
    file = strangers / "bonds.json"
    assert ble.good("bonds", "export", file).stdout == ""
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    ble.bad("bonds", "export", file, status=1, says=["already"])
    ble.bad("bonds", "export", "/dev/null", status=1, says=["already"])
    bumble.management.forget_keys(bumble.index)
    monkeypatch.setenv("XDG_STATE_HOME", str(strangers / "another"))
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=["pair"])
    ble.good("bonds", "import", file)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_full_disk_loses_no_bond(ble, bumble, strangers):
    """The store on a disk of some pages: what can't be written is an error with what to do, and what is there stays."""
    disk = strangers / "ours"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(disk)], check=True)
    try:
        ble.good("pair", names.NEAR)
        ble.good("bonds", "export", strangers / "first.json")
        ble.good("unpair", names.NEAR)
        bumble.peer.command("forget")
        ble.good("pair", names.NEAR)
        with pytest.raises(OSError), (disk / "fill").open("wb", buffering=0) as fill:
            while True:
                fill.write(bytes(4096))
        ble.bad("bonds", "import", strangers / "first.json", "--replace", status=1, says=[str(disk), "disk has room"])
        bumble.management.forget_keys(bumble.index)
        assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
        (disk / "fill").unlink()
        ble.good("bonds", "import", strangers / "first.json", "--replace")
        # Keys that the peripheral has forgotten: they are the ones that were imported.
        ble.bad("read", names.NEAR, names.SECRET, status=1)
        left = {path.name for path in disk.rglob("*") if path.is_file()}
        assert left == {".lock", f"{names.NEAR.replace(':', '-')}-random.json"}, left
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_stolen_store_is_of_use_until_the_bond_is_removed_on_both_sides(ble, bumble, strangers, monkeypatch):
    """What the page about threats says of it: the keys are not encrypted at rest."""
    ble.good("pair", names.NEAR)
    shutil.copytree(strangers / "ours", strangers / "theirs")
    ble.good("unpair", names.NEAR)
    bumble.management.forget_keys(bumble.index)
    monkeypatch.setenv("XDG_STATE_HOME", str(strangers / "theirs"))
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    bumble.management.forget_keys(bumble.index)
    bumble.peer.command("forget")
    ble.bad("read", names.NEAR, names.SECRET, status=1)


def test_a_capture_of_a_pairing_has_no_key(ble, bumble, strangers):
    """It has what the two said to each other above the pairing, as was asked for, and is its user's alone."""
    file = strangers / "walk.btsnoop"
    ble.good("pair", names.NEAR, "--read", names.SECRET, "--capture", file)
    octets = file.read_bytes()
    assert names.SECRET_BYTES in octets
    records = [json.loads(path.read_text())["record"] for path in (strangers / "ours").rglob("*.json")]
    values = [key["value"] for record in records for bond in record["bonds"] for key in bond["encryptionKeys"]]
    assert values
    for key in map(base64.b64decode, values):
        assert key not in octets and key[::-1] not in octets
        assert not leaks(octets.decode("latin-1"), secrets([key], []))
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
