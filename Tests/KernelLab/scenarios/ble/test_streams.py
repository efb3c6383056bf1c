"""`ble notify` and `transfer`: nothing lost, nothing out of order, and an orderly end."""

import hashlib
import struct

import pytest

from lab import names

pytestmark = pytest.mark.program


def numbers(values):
    return [struct.unpack("<I", value)[0] for value in values]


def last(run):
    return {key: run.records[-1].get(key) for key in ("received", "dropped")}


@pytest.mark.main_job
def test_lost_notifications(ble, bumble):
    """A thousand at full blast arrive in order, and that none was dropped is said."""
    run = ble.good("notify", names.NEAR, names.THOUSAND, "--count", "1000", "--json")
    assert numbers(run.values) == list(range(1000)), run
    assert last(run) == {"received": 1000, "dropped": 0}, run


def test_the_subscription_ends_with_the_command(ble, bumble):
    ble.good("notify", names.NEAR, "2A37", "--count", "3")
    off = bumble.peer.wait("cccd", bumble.mark, char="heart-rate", on=0)
    gone = bumble.peer.wait("disconnected", bumble.mark)
    assert off.time <= gone.time


def test_what_comes_before_the_write_response_is_not_lost(ble, bumble):
    run = ble.good("notify", names.NEAR, names.EARLY, "--count", "5", "--json")
    assert run.values == names.EARLY_VALUES, run


@pytest.mark.main_job
def test_indications_are_confirmed(ble, bumble):
    run = ble.good("notify", names.NEAR, names.INDICATED, "--count", str(names.INDICATIONS), "--json")
    assert numbers(run.values) == list(range(names.INDICATIONS)), run
    bumble.peer.wait("confirmed", bumble.mark, number=names.INDICATIONS - 1)


def test_a_timeout_ends_a_stream(ble, bumble):
    """EARLY says five things and then nothing more: the sixth never comes."""
    run = ble("notify", names.NEAR, names.EARLY, "--timeout", "30", "--json")
    assert run.values == names.EARLY_VALUES, run
    assert run.status in (0, 1), run
    if run.status == 1:
        assert "timeout" in run.stderr.lower() or "timed out" in run.stderr.lower(), run
    bumble.peer.wait("disconnected", bumble.mark)


@pytest.mark.main_job
def test_a_message_is_taken_until_its_end_mark(ble, bumble, tmp_path):
    file = tmp_path / "message"
    ble.good("transfer", names.NEAR, names.MESSAGE, "--output", file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert digest == hashlib.sha256(names.MESSAGE_BYTES).hexdigest(), f"{file.stat().st_size} bytes"
    bumble.peer.wait("cccd", bumble.mark, char="message", on=0)


def test_a_message_is_printed_as_a_value(ble, bumble):
    assert ble.good("transfer", names.NEAR, names.MESSAGE, "--json").values[0] == names.MESSAGE_BYTES


def test_another_end_mark(ble, bumble, tmp_path):
    file = tmp_path / "message"
    ble.good("transfer", names.NEAR, names.EARLY, "--eom", "late 4", "--output", file)
    assert file.read_bytes() == b"".join(names.EARLY_VALUES[:4])


def test_an_end_mark_at_the_end_of_a_chunk(ble, bumble, tmp_path):
    """By default that is data; asked for by its own name it ends the message."""
    file = tmp_path / "message"
    ble.good("transfer", names.NEAR, names.EARLY, "--eom-at-end", "ate 3", "--output", file)
    assert file.read_bytes() == b"".join(names.EARLY_VALUES[:3]) + b"l"


def without_separators(text):
    return text.replace(",", "").replace("_", "").replace("\u202f", "")


def test_a_link_dropped_in_the_middle_of_a_message(ble, bumble):
    run = ble.bad("transfer", names.NEAR, names.BROKEN, status=1, says=["disconnected"])
    sent = bumble.peer.wait("sent", bumble.mark, char="broken").facts
    assert any(word in run.stderr.lower() for word in ("remote", "peer", "peripheral")), f"the reason is missing\n{run}"
    assert sent["bytes"] in without_separators(run.stderr), f"{sent['bytes']} bytes had been assembled\n{run}"


def test_a_link_dropped_in_the_middle_of_a_stream(ble, bumble):
    run = ble.bad("notify", names.NEAR, names.BROKEN, "--json", status=1, says=["disconnected"])
    assert b"".join(run.values) == names.MESSAGE_BYTES[: sum(map(len, run.values))], run
    sent = bumble.peer.wait("sent", bumble.mark, char="broken").facts
    assert len(run.values) == int(sent["count"]), run


@pytest.mark.main_job
def test_a_link_that_is_lost(ble, bumble):
    run = ble.start("notify", names.NEAR, "2A37", "--json")
    run.wait_lines()
    bumble.peer.command("lose")
    assert run.end().status == 1, run
    assert "disconnected" in run.stderr.lower(), run
    assert any(word in run.stderr.lower() for word in ("timeout", "timed out", "supervision", "lost", "0x08")), run


@pytest.mark.main_job
def test_a_stream_that_reconnects(ble, bumble):
    run = ble.start("notify", names.NEAR, "2A37", "--reconnect", "--json")
    run.wait_lines()
    mark = bumble.peer.mark()
    bumble.peer.command("lose")
    bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
    before = len(run.stdout.splitlines())
    run.wait_lines(before + 2)
    run.interrupt()
    assert run.end().status == 130, run


@pytest.mark.parametrize("command", ["read"])
def test_a_peripheral_that_never_answers(ble, bumble, command):
    """The bearer gives up after 30 seconds, as the specification says, and can't be used any more."""
    run = ble.bad(command, names.NEAR, names.SILENT, status=1, says=[("timeout", "timed out"), "read"])
    assert run.seconds >= 30, run
    bumble.peer.wait("read", bumble.mark, char="silent")
    bumble.peer.wait("disconnected", bumble.mark)
