"""Several programs of one user on one store: one is killed while it writes, or is stopped while it holds the lock."""

import os
import random
import subprocess
from contextlib import contextmanager

import pytest

from lab import names
from lab.mgmt import DEVICE_CONNECTED
from lab.stopping import stopped


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after; answers the folder in which the command keeps its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield tmp_path / "blestreams"
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def bonds(ble) -> list[str]:
    """The addresses of all bonds; nothing is to be wrong with the store."""
    run = ble.good("bonds", "--json")
    assert "blestreams" not in run.stderr and "damaged" not in run.stderr, run
    return [bond["address"] for bond in run.records]


def test_a_pairing_that_is_killed_at_any_step_is_made_again(ble, bumble, strangers):
    """Whichever side kept keys of it, the next pairing is a whole one."""
    for step in ("scanning", "connected", "mtu"):
        mark = bumble.peer.mark()
        bumble.management.forget_events()
        run = ble.start("pair", names.NEAR, "--json")
        bumble.peer.wait(step, mark)
        if step == "connected":
            # Before it has heard of that itself, the kernel may forget the link: scenarios/field/test_forgotten_links.py
            bumble.management.wait(lambda code, index, facts: code == DEVICE_CONNECTED)
        run.kill()
        assert set(bonds(ble)) <= {names.NEAR}
        ble.good("pair", names.NEAR, "--json")
        assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
        ble.good("unpair", names.NEAR)
        bumble.peer.command("forget")


def test_no_bond_is_lost_by_programs_that_are_killed_while_they_write(ble, bumble, strangers):
    ble.good("pair", names.NEAR)
    for _ in range(8):
        run = ble.program("Fleet", "--keep", f"{names.NEAR}/random")
        # It keeps its session at the first link, and what it has discovered a little later.
        run.wait_lines(random.randint(1, 6))
        run.kill()
        assert bonds(ble) == [names.NEAR]
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
    # A damaged file would have been set aside, under another name.
    assert [name for name in os.listdir(strangers) if not name.startswith(".")] == ["C4-F2-17-1A-1D-BB-random.json"]


@contextmanager
def holder(lock):
    """A program that has locked the store, and is stopped."""
    program = subprocess.Popen(["flock", lock, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        # It repeats what it is told once it has the lock.
        program.stdin.write(b"locked\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"locked\n"
        with stopped(program):
            yield program
    finally:
        program.stdin.close()
        program.wait()


def test_a_program_that_is_stopped_while_it_writes_is_named(ble, bumble, strangers):
    """Nobody waits for it for ever, and what it keeps from being written isn't lost in silence."""
    strangers.mkdir(mode=0o700)
    with holder(strangers / ".lock") as program:
        named = ["flock", f"process {program.pid}", "is stopped", f"kill -CONT {program.pid}"]
        run = ble.bad("pair", names.NEAR, "--json", status=1, says=[*named, "ble unpair"])
        assert '"pairingFailure":"bondNotKept"' in run.stderr and "blestreams:" not in run.stderr, run
        doctor = ble("doctor")
        assert doctor.status == 1 and all(word in doctor.stdout for word in named), doctor
        # Who has nothing to write isn't concerned, and who is interrupted ends.
        assert bonds(ble) == []
        run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--json")
        run.wait_lines()
        run.interrupt()
        assert run.end().status == 130, run
    ble.good("unpair", names.NEAR)
    bumble.peer.command("forget")
    ble.good("pair", names.NEAR)
    assert bonds(ble) == [names.NEAR]
