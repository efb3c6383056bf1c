"""Programs that are stopped for longer than a link, a question or a transaction lasts, and continued."""

import time

import pytest

from lab import names
from lab.stopping import stopped

PASSKEY = "271828"


@pytest.fixture
def strangers(bumble, tmp_path, monkeypatch):
    """No bonds anywhere, before and after."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    yield
    bumble.peer.command("manner none")
    bumble.peer.command("forget")
    bumble.management.unpair(bumble.index, names.NEAR)


def test_a_link_that_stands_brings_all_that_was_sent_meanwhile(ble, bumble):
    run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--json")
    run.wait_lines(2)
    with stopped(run.process):
        # For as long as another program looks for a device that isn't there.
        ble.bad("read", f"{names.ABSENT}/random", names.VALUE, "--timeout", "35", status=1)
    run.wait_lines(160)
    run.interrupt()
    assert run.end().status == 130, run
    beats = [value[1] for value in run.values]
    assert all((after - before) % 100 == 1 for before, after in zip(beats, beats[1:])), run
    assert run.records[-1]["dropped"] == 0, run


def test_a_link_that_is_lost_meanwhile_is_a_gap_and_comes_back(ble, bumble):
    run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json")
    run.wait_lines(2)
    mark, began = bumble.peer.mark(), time.monotonic()
    with stopped(run.process):
        bumble.peer.command("drop", "0x08")
        bumble.peer.wait("disconnected", mark)
    bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
    run.wait_text('"gap"')
    run.wait_lines(run.stdout.count("\n") + 2)
    longest = time.monotonic() - began
    run.interrupt()
    assert run.end().status == 130, run
    gaps = [record["gap"] for record in run.records if "gap" in record]
    assert len(gaps) == 1 and "supervision timeout" in gaps[0]["reason"]["cause"], run
    assert 0 < gaps[0]["duration"] < longest, run


def test_a_question_that_nobody_could_answer_is_told(ble, bumble, strangers):
    """The pairing's half minute passes; what is typed afterwards comes too late, and the next pairing succeeds."""
    bumble.peer.command(f"manner shows {PASSKEY}")
    run = ble.start_at_terminal("pair", names.NEAR)
    run.wait_question("shows (")
    mark = bumble.peer.mark()
    with stopped(run.process):
        bumble.peer.wait("disconnected", mark)
    run.type(PASSKEY)
    assert run.end().status == 1 and "did not answer in time" in run.stderr, run
    ble.good("pair", names.NEAR, "--passkey", PASSKEY)
