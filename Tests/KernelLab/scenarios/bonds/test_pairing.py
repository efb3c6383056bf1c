"""Pairing, without numbers and with: the bond is kept by the command, used by its next run, and removed again."""

import json
import os
import stat
import subprocess

import pytest

from lab import names
from lab.neighbour import Neighbour

# Whether the kernel asks the programs on this machine to confirm a pairing without numbers that one of them began.
ASKS = os.environ.get("LAB_KERNEL") != "6.1"


@pytest.fixture
def bluetoothd(bumble):
    neighbour = Neighbour(bumble.management, bumble.index)
    neighbour.start()
    yield neighbour
    neighbour.stop()


@pytest.fixture
def other_agent(bluetoothd):
    """An agent that somebody else has registered, the default one; it would say no."""
    bluetoothd.register_agent()
    return bluetoothd.agent


@pytest.fixture
def no_debugfs():
    """What a program that isn't root sees: nothing of the keys that the kernel has."""
    subprocess.run(["umount", "/sys/kernel/debug"], check=True)
    yield
    subprocess.run(["mount", "-t", "debugfs", "debugfs", "/sys/kernel/debug"], check=True)


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after; answers the folder in which the command keeps its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path / "blestreams"
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


@pytest.fixture
def veiled(bumble):
    """The peripheral's private address."""
    yield bumble.peer.command("veil")
    bumble.management.disconnect_all(bumble.index)
    bumble.peer.command("reset")
    bumble.peer.command("unveil")


def refused(ble):
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=[("encrypt", "authenti"), "pair"])


@pytest.mark.main_job
def test_a_protected_value_is_read_after_pairing(ble, bumble, strangers):
    refused(ble)
    record = ble.good("pair", names.NEAR, "--json").records[-1]
    assert record == {
        "address": names.NEAR, "addressType": "random", "bonded": True, "encrypted": True, "authenticated": False,
        "wasPaired": True,
    }
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    bonds = ble.good("bonds", "--json").records
    assert [bond["address"] for bond in bonds] == [names.NEAR]


def test_pairing_for_the_sake_of_a_value(ble, bumble, strangers):
    """The flow that is refused first, pairs then, reads, and has nothing to pair for the next time."""
    first = ble.good("pair", names.NEAR, "--read", names.SECRET, "--json").records[-1]
    assert first["encrypted"] and first["wasPaired"] and first["addressType"] == "random"
    assert bytes.fromhex(first["hex"]) == names.SECRET_BYTES
    second = ble.good("pair", names.NEAR, "--read", names.SECRET, "--json").records[-1]
    assert second["encrypted"] and not second["wasPaired"]
    assert second["hex"] == first["hex"]


def test_nobody_else_reads_the_keys(ble, bumble, strangers):
    ble.good("pair", names.NEAR)
    files = [path for path in strangers.iterdir() if path.suffix == ".json"]
    assert len(files) == 1
    assert stat.S_IMODE(os.stat(files[0]).st_mode) == 0o600
    key = json.loads(files[0].read_text())["record"]["bonds"][0]["encryptionKeys"][0]["value"]
    said = "".join(run.stdout + run.stderr for run in ble.runs)
    assert key not in said


def test_a_bond_that_can_not_be_kept_is_told(ble, bumble, strangers, monkeypatch, tmp_path):
    """What is in the way of the folder is as good as a full disk: the command has failed, and says what to do."""
    (tmp_path / "full").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "full"))
    run = ble.bad("pair", names.NEAR, "--json", status=1, says=["the bond could not be written to", "full", "ble unpair"])
    assert '"pairingFailure":"bondNotKept"' in run.stderr, run
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    ble.good("pair", names.NEAR)
    assert [bond["address"] for bond in ble.good("bonds", "--json").records] == [names.NEAR]


def test_the_bond_outlives_the_kernel(ble, bumble, strangers):
    """What a restart of the machine does to the kernel's keys: they are gone, and given to it again."""
    ble.good("pair", names.NEAR)
    bumble.management.forget_keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_peripheral_that_was_reset(ble, bumble, strangers):
    ble.good("pair", names.NEAR)
    bumble.peer.command("forget")
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=["unpair"])
    ble.good("unpair", names.NEAR)
    assert ble.good("bonds", "--json").records == []
    refused(ble)
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_pairing_needs_a_permission_that_is_named(ble, bumble, strangers):
    ble.unprivileged().bad("pair", names.NEAR, status=1, says=["cap_net_admin"])


def test_no_bond_to_remove(ble, bumble, strangers):
    ble.bad("unpair", names.NEAR, status=1, says=["no bond"])


def test_no_agent(ble, bumble, strangers, bluetoothd):
    """bluetoothd has no agent. It is asked as every program on the management socket is, and would say no: so it asks us."""
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    if ASKS:
        bluetoothd.daemon.wait_line("Calling Agent.RequestAuthorization")
    bluetoothd.daemon.wait_line("unregister_agent")


def test_a_bond_that_is_removed_beside_bluetoothd_stays_removed(ble, bumble, strangers, bluetoothd):
    """bluetoothd has kept it too, and gives its keys to the kernel again whenever it starts."""
    ble.good("pair", names.NEAR)
    ble.good("unpair", names.NEAR)
    bluetoothd.restart()
    assert names.NEAR not in bumble.management.keys(bumble.index)


def test_a_pairing_that_is_broken_off_leaves_no_keys(ble, bumble, strangers, bluetoothd):
    """The command goes on for a while when the keys are made, so that the link outlasts bluetoothd's look at them."""
    bumble.management.forget_events()
    run = ble.start("pair", names.NEAR)
    bumble.management.wait_new_key(bumble.index)
    run.interrupt()
    assert run.end().status == 130, run
    bumble.wait_silence()
    assert names.NEAR not in bumble.management.keys(bumble.index)
    assert ble.good("bonds", "--json").records == []
    bluetoothd.restart()
    assert names.NEAR not in bumble.management.keys(bumble.index)
    bumble.peer.command("forget")
    ble.good("pair", names.NEAR)


def test_beside_a_bluetoothd_with_an_agent_of_somebody_else(ble, bumble, strangers, other_agent, bluetoothd):
    """Who pairs is asked; the other agent, which would say no, has its place back afterwards."""
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    bluetoothd.daemon.wait_line("unregister_agent")
    assert not [line for line in other_agent.lines if "asked" in line or "released" in line], other_agent.lines


def test_several_pair_at_once_beside_bluetoothd(ble, bumble, strangers, bluetoothd):
    """bluetoothd asks its newest agent about every pairing: each program waits until the one before it has been asked."""
    bumble.peer.command("crowd", "9")
    sensors = [names.crowd(number) for number in range(9)]
    try:
        for first in range(0, 9, 3):
            runs = [ble.start("pair", sensor + "/random", "--json") for sensor in sensors[first : first + 3]]
            assert [run.end().status for run in runs] == [0, 0, 0], [str(run) for run in runs]
        for sensor in sensors:
            ble.good("unpair", sensor)
    finally:
        bumble.peer.command("leave")


def test_a_bond_made_beside_bluetoothd_outlives_it(ble, bumble, strangers, bluetoothd):
    """bluetoothd replaces the kernel's list of keys at each start; those of such a bond are among its own."""
    ble.good("pair", names.NEAR)
    bluetoothd.restart()
    assert names.NEAR in bumble.management.keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_bluetoothd_that_takes_our_keys_away(ble, bumble, strangers, request):
    """It starts over a bond that it doesn't know; root may look what the kernel has, and adds to it."""
    ble.good("pair", names.NEAR)
    request.getfixturevalue("bluetoothd")
    assert names.NEAR not in bumble.management.keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


@pytest.mark.skipif(not ASKS, reason="this kernel pairs again by itself, and asks nobody")
def test_a_bluetoothd_that_took_our_keys_away_is_named(ble, bumble, strangers, request, no_debugfs):
    """Who may not look says whose the list is; a new pairing beside bluetoothd mends it."""
    ble.good("pair", names.NEAR)
    request.getfixturevalue("bluetoothd")
    ble.bad("read", names.NEAR, names.SECRET, status=1, says=["bluetoothd", "unpair"])
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    ble.good("pair", names.NEAR)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


def test_a_link_goes_by_the_identity_that_was_told(ble, bumble, strangers, veiled):
    """The kernel renames a link when a private peer has told its identity, and finds it under that name only."""
    ble.good("pair", f"{veiled}/random")
    # So it was dropped by that name. A command under the old one misses, and the kernel keeps the link two seconds.
    assert bumble.management.connections(bumble.index) == []
    assert [bond["address"] for bond in ble.good("bonds", "--json").records] == [names.NEAR]


def test_keys_of_another_program_stay(ble, bumble, strangers):
    """Another program gives the kernel the keys of its own bonds, and takes ours away by that; we don't do likewise."""
    ble.good("pair", names.NEAR)
    bumble.management.load_key(bumble.index, names.FAR)
    assert bumble.management.keys(bumble.index) == {names.FAR}
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    assert bumble.management.keys(bumble.index) == {names.FAR, names.NEAR}
    bumble.management.forget_keys(bumble.index)


@pytest.mark.skipif(not ASKS, reason="this kernel asks nobody to confirm Just Works")
def test_a_bluetoothd_that_can_not_be_told_is_named(ble, bumble, strangers, bluetoothd, monkeypatch):
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere/bus")
    ble.bad("pair", names.NEAR, status=1, says=["bluetoothd", "no agent", "/nowhere/bus", "default-agent"])


PASSKEY = "062481"
# With and without LE Secure Connections.
manners = pytest.mark.parametrize("words", ["", " legacy"], ids=["secure", "legacy"])


def is_authenticated(run) -> bool:
    assert run.status == 0, f"ble was to succeed\n{run}"
    assert PASSKEY not in run.stdout
    record = run.records[-1]
    return record["encrypted"] and record["authenticated"]


@pytest.mark.parametrize("forgets", [False, True], ids=["kept", "given again"])
def test_the_next_link_after_a_legacy_pairing(ble, bumble, strangers, forgets):
    """Each side has given the other a key; the one that the peripheral gave counts."""
    bumble.peer.command("manner none legacy")
    ble.good("pair", names.NEAR)
    if forgets:
        bumble.management.forget_keys(bumble.index)
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


@manners
def test_a_passkey_that_the_peripheral_shows(ble, bumble, strangers, words):
    bumble.peer.command(f"manner shows {PASSKEY}{words}")
    run = ble.good("pair", names.NEAR, "--passkey", PASSKEY, "--json", "-v")
    assert is_authenticated(run) and PASSKEY not in run.stderr
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]


@manners
def test_a_passkey_that_is_wrong(ble, bumble, strangers, words):
    bumble.peer.command(f"manner shows {PASSKEY}{words}")
    run = ble.bad("pair", names.NEAR, "--passkey", "123450", status=1, says=["passkey", "six digits"])
    assert "123450" not in run.stderr
    assert ble.good("bonds", "--json").records == []


@manners
def test_a_person_enters_what_the_peripheral_shows(ble, bumble, strangers, words):
    bumble.peer.command(f"manner shows {PASSKEY}{words}")
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    run.wait_question("shows (")
    run.type("62481")
    run.wait_question("shows (", times=2)
    assert "six digits" in run.stderr
    run.type(PASSKEY)
    assert is_authenticated(run.end())


@manners
def test_a_person_types_on_the_peripheral(ble, bumble, strangers, words):
    bumble.peer.command(f"manner enters{words}")
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    run.wait_question(f" on {names.NEAR}.")
    bumble.peer.command(f"types {run.stderr.split('Type ')[1][:6]}")
    assert is_authenticated(run.end())


def test_a_person_refuses(ble, bumble, strangers):
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("pair", names.NEAR)
    run.wait_question("shows (")
    run.type("")
    assert run.end().status == 1 and "refused" in run.stderr, run


def test_a_passkey_beside_bluetoothd(ble, bumble, strangers, bluetoothd):
    bumble.peer.command(f"manner shows {PASSKEY}")
    assert is_authenticated(ble.good("pair", names.NEAR, "--passkey", PASSKEY, "--json"))
    bluetoothd.daemon.wait_line("Calling Agent.RequestPasskey")
    bluetoothd.daemon.wait_line("unregister_agent")


def test_an_adapter_that_is_switched_off_while_a_person_is_asked_is_named(ble, bumble, strangers):
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("pair", names.NEAR)
    run.wait_question("shows (")
    bumble.management.power(bumble.index, False)
    try:
        run.end()
    finally:
        bumble.management.power(bumble.index, True)
    assert run.status == 1 and "is switched off" in run.stderr and "peripheral did" not in run.stderr, run


@pytest.mark.parametrize("is_replaced", [False, True], ids=["gone", "replaced"])
def test_a_bluetoothd_that_is_killed_while_a_person_is_asked(ble, bumble, strangers, bluetoothd, is_replaced):
    """It has passed the question on, and nobody is there for the answer: the kernel gets it."""
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    run.wait_question("shows (")
    bluetoothd.daemon.wait_line("Calling Agent.RequestPasskey")
    bluetoothd.crash()
    if is_replaced:
        bluetoothd.start()
    run.type(PASSKEY)
    assert is_authenticated(run.end())


def test_numbers_are_compared_beside_bluetoothd(ble, bumble, strangers, bluetoothd):
    bumble.peer.command("manner compares")
    run = ble.start_at_terminal("pair", names.NEAR, "--json")
    run.wait_question("(y/n)")
    bumble.peer.command("types yes")
    run.type("y")
    assert is_authenticated(run.end())
    bluetoothd.daemon.wait_line("Calling Agent.RequestConfirmation")


def test_a_value_that_needs_it_beside_bluetoothd(ble, bumble, strangers, bluetoothd):
    """Paired for when it is read; the keys are bluetoothd's too, and the next runs ask nobody."""
    bumble.peer.command(f"manner shows {PASSKEY}")
    read = ("read", names.NEAR, names.SECRET, "--json")
    assert ble.good(*read, "--passkey", PASSKEY).values == [names.SECRET_BYTES]
    bluetoothd.daemon.wait_line("unregister_agent")
    assert ble.good(*read).values == [names.SECRET_BYTES]
    bluetoothd.restart()
    assert ble.good(*read).values == [names.SECRET_BYTES]
