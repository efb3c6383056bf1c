"""Responses that belong to nothing, or to an earlier program: they are never taken for the answer that is waited for."""

import json

import pytest

from lab import att, names

pytestmark = pytest.mark.program

# A Write Response, and errors to another request and for another handle.
STRAYS = ["13", "010c0b0007", "010a777702", "19"]


def handles(bumble) -> dict[str, int]:
    tree = json.loads(bumble.peer.command("tree"))
    return {c["uuid"]: c["handle"] for s in tree for c in s["characteristics"]}


def test_six_handles_are_read_rightly_though_stray_responses_come_first(ble, bumble):
    bumble.peer.command("silence", "off")
    bumble.peer.command("strays", *STRAYS)
    known = handles(bumble)
    for uuid, value in [
        (names.BODY_SENSOR_LOCATION, b"\x01"),
        (names.VALUE, names.VALUE_BYTES),
        (names.LONG, names.LONG_BYTES),
        (names.READ_ONLY, names.READ_ONLY_BYTES),
        (names.SILENT, names.SILENT_BYTES),
        (names.BATTERY_LEVEL, b"\x57"),
    ]:
        run = ble.good("read", names.NEAR, f"0x{known[names.full(uuid)]:04x}", "--json")
        assert run.values == [value], f"{uuid}\n{run}"


def test_everything_is_found_and_read_though_stray_responses_come_first(ble, bumble):
    bumble.peer.command("silence", "off")
    wanted = ble.good("info", names.NEAR, "--json").records
    bumble.wait_silence()
    bumble.peer.command("strays", *STRAYS)
    run = ble.good("info", names.NEAR, "--json")
    assert run.records == wanted, run


@pytest.mark.parametrize("seconds", ["1.5"])
def test_a_late_answer_to_an_earlier_program_is_not_taken_for_ours(ble, bumble, seconds):
    """The earlier one asks and goes; within two seconds the kernel still holds the link, and connecting finds it."""
    known = handles(bumble)
    earlier = att.Client(names.CENTRAL, names.NEAR, att.LE_RANDOM)
    mark = bumble.peer.mark()
    bumble.peer.command("late", seconds)
    earlier.socket.send(bytes([att.READ, known[names.full(names.BODY_SENSOR_LOCATION)], 0]))
    bumble.peer.wait("late", mark)
    bumble.peer.command("late", "0")
    bumble.peer.command("requests")
    earlier.close()
    # With the capability it would end the link first.
    run = ble.unprivileged().good("read", names.NEAR, f"0x{known[names.full(names.VALUE)]:04x}", "--json")
    assert run.values == [names.VALUE_BYTES], run
    requests = bumble.peer.command("requests").split(",")
    if bumble.peer.since(mark, "connected"):
        pytest.skip("the machine was too slow: the link was gone before the second program came")
    # Nothing that an earlier program may have asked is asked again before its answer has come; then the MTU is.
    assert requests[:2] == ["0x04", "0x02"], requests
