"""Others meddle with the adapter and the link of a running command: rfkill, bluetoothctl, a bluetoothd that ends."""

import pytest

from lab import faults, names
from lab.bluetoothctl import Bluetoothctl
from lab.neighbour import Neighbour
from lab.rfkill import RFKILL, blocked
from lab.world import OUT

FOLLOW = ("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json")


@pytest.fixture
def neighbour(bumble, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    neighbour = Neighbour(bumble.management, bumble.index)
    neighbour.start()
    yield neighbour
    neighbour.stop()
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def goes_on(run, bumble, mark):
    """It has told of the gap, and has values again."""
    bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
    run.wait_text('"value"', after=run.stdout.rfind('"gap"'))


def end(run):
    run.interrupt()
    assert run.end().status == 130, run
    return [record["gap"]["reason"]["cause"] for record in run.records if "gap" in record]


@pytest.mark.skipif(not RFKILL.exists(), reason="this kernel was booted without rfkill")
def test_rfkill_in_the_middle_of_everything(ble, bumble):
    session = ble.start(*FOLLOW)
    scan = ble.start("scan", "--duplicates", "--json")
    ending = [scan]
    # Goes round close-of-unused-link: an attempt to connect would end in it.
    if not faults.present("close-of-unused-link"):
        ending.append(ble.start("read", f"{names.ABSENT}/random", names.VALUE, "--json"))
    for run in (session, scan):
        run.wait_lines(2)
    mark = bumble.peer.mark()
    try:
        with blocked(bumble.index):
            for run in ending:
                assert run.end().status == 1 and '"code":"adapterBlocked"' in run.stderr, run
                assert "rfkill unblock bluetooth" in run.stderr and "ble adapter on" in run.stderr, run
            session.wait_text("the adapter is blocked", "stderr")
    finally:
        bumble.management.power(bumble.index, True)
    bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
    session.wait_text('"gap"')
    goes_on(session, bumble, mark)
    # Linux lets the link look as if the peripheral had closed it.
    causes = end(session)
    assert len(causes) == 1 and ("blocked" in causes[0] or "switched off" in causes[0]), session


def test_a_bluetoothctl_that_connects_to_the_same_device_and_disconnects_it(ble, bumble, neighbour):
    person = Bluetoothctl("NoInputNoOutput", OUT / "bluetoothctl-meddling.log")
    try:
        session = ble.start(*FOLLOW)
        session.wait_lines(2)
        person.ask("scan le", "Discovery started|Failed to start|InProgress")
        person.ask(f"connect {names.NEAR}", "Connection successful|Failed to connect")
        count = session.stdout.count("\n")
        session.wait_lines(count + 3)
        assert '"gap"' not in session.stdout, session
        mark = bumble.peer.mark()
        person.type(f"disconnect {names.NEAR}")
        session.wait_text('"gap"')
        goes_on(session, bumble, mark)
        assert len(end(session)) == 1, session
    finally:
        person.stop()


@pytest.mark.parametrize("how", ["ends", "crashes"])
def test_a_bluetoothd_that_goes_and_comes_beside_a_bonded_session(ble, bumble, neighbour, how):
    """One that ends as it should switches the adapter off; the session waits for it, and the bond still holds."""
    ble.good("pair", names.NEAR)
    session = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--secure", "encrypted", "--json")
    session.wait_lines(2)
    mark = bumble.peer.mark()
    if how == "ends":
        neighbour.restart()
        session.wait_text('"gap"')
        goes_on(session, bumble, mark)
    else:
        neighbour.crash()
        neighbour.start()
        session.wait_lines(session.stdout.count("\n") + 3)
        bumble.peer.command("drop", "0x08")
        session.wait_text('"gap"')
        goes_on(session, bumble, mark)
    causes = end(session)
    assert len(causes) == 1 and ("switched off" if how == "ends" else "supervision timeout") in causes[0], session
    assert ble.good("read", names.NEAR, names.SECRET, "--json").values == [names.SECRET_BYTES]
