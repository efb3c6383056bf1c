"""Two or three adapters on one air, used as one by `--adapter all`."""

import datetime

import pytest

from lab import faults, names
from lab.figures import note
from lab.world import JoinedWorld

RATE = names.HEART_RATE_MEASUREMENT
ALL = ("--adapter", "all")
UNHEARD = "200"  # dB: the adapter hears nobody


@pytest.fixture(scope="module")
def world():
    world = JoinedWorld()
    yield world
    world.stop()


@pytest.fixture
def joined(world, request):
    """Both adapters on and hearing well, nobody connected."""
    world.peer.command("reset")
    world.power()
    for name in world.names.values():
        world.management.disconnect_all(int(name.removeprefix("hci")))
    world.management.forget_events()
    world.mark = world.peer.mark()
    request.node.world = world
    yield world


@pytest.fixture
def may_refuse():
    """The controller refuses a connection, and the program closes the socket that asked for it."""
    if fault := faults.present("close-of-unused-link"):
        pytest.skip(f"{fault.name}: {fault.what}")


def sensor(number: int) -> str:
    return names.crowd(number) + "/random"


def test_each_report_names_its_adapter(ble, joined):
    joined.peer.command("deaf", "second", "30")
    run = ble.start("scan", "--duplicates", "--json", *ALL)
    for name in joined.names.values():
        run.wait_text(f'"adapter":"{name}"')
    run.interrupt()
    run.end()
    strengths = {(record["adapter"], record["rssi"]) for record in run.sightings}
    first, second = joined.names["first"], joined.names["second"]
    assert strengths == {(first, names.NEAR_RSSI), (second, names.NEAR_RSSI - 30)}, run


@pytest.mark.parametrize("best", ["first", "second"])
def test_the_adapter_that_hears_best_connects(ble, joined, best):
    other = "second" if best == "first" else "first"
    joined.peer.command("hear", best, "0", other, "30")
    ble.good("notify", sensor(0), RATE, "--count", "3", "--json", *ALL)
    assert joined.peer.wait("connected", joined.mark, sensor=0).facts["adapter"] == best
    assert joined.peer.since(joined.mark, "heard"), "it connected before all listened"


def test_a_peripheral_that_moved_is_taken_over_at_the_next_reconnect(ble, joined):
    joined.peer.command("hear", "first", "0", "second", "30")
    run = ble.start("notify", sensor(0), RATE, "--reconnect", "--json", *ALL)
    run.wait_lines(3)
    assert joined.peer.wait("connected", joined.mark, sensor=0).facts["adapter"] == "first"
    # Where it is now the link is no worse for it: it stays until it ends.
    joined.peer.command("hear", "first", "30", "second", "0")
    run.wait_lines(run.stdout.count("\n") + 3)
    mark = joined.peer.mark()
    joined.peer.command("lose", "0")
    assert joined.peer.wait("connected", mark, sensor=0).facts["adapter"] == "second"
    run.wait_lines(run.stdout.count("\n") + 3)
    run.interrupt()
    run.end()


def test_the_other_is_taken_when_slots_are_out(ble, joined, may_refuse):
    joined.peer.command("deaf", "second", UNHEARD)
    joined.peer.command("limit", "first", "1")
    holding = ble.start("notify", sensor(0), RATE, "--json", *ALL)
    holding.wait_lines()
    assert joined.peer.wait("connected", joined.mark, sensor=0).facts["adapter"] == "first"
    joined.peer.command("deaf", "second", "30")
    ble.good("notify", sensor(1), RATE, "--count", "3", "--json", *ALL)
    assert joined.peer.wait("connected", joined.mark, sensor=1).facts["adapter"] == "second"
    holding.wait_lines(holding.stdout.count("\n") + 1)
    holding.interrupt()
    holding.end()


def test_the_other_takes_over_when_one_is_pulled_out(ble, joined):
    joined.peer.command("deaf", "second", UNHEARD)
    run = ble.start("notify", sensor(0), RATE, "--reconnect", "--json", *ALL)
    run.wait_lines(3)
    assert joined.peer.wait("connected", joined.mark, sensor=0).facts["adapter"] == "first"
    mark = joined.peer.mark()
    joined.peer.command("deaf", "second", "30")
    joined.peer.command("unplug", "first")
    assert joined.peer.wait("connected", mark, sensor=0).facts["adapter"] == "second"
    run.wait_lines(run.stdout.count("\n") + 3)
    run.interrupt()
    run.end()


def test_of_three_adapters_the_one_that_holds_a_stream_is_pulled_out(ble, joined):
    """The sensor's word counts: each value of the old link's and of the new one's is there, once, in order, and between
    them is one gap, of what it sent to nobody."""
    joined.peer.command("plug", "third")
    joined.power(names.THIRD_CENTRAL)
    joined.peer.command("hear", "first", "0", "second", "30", "third", "15")
    run = ble.start("notify", sensor(0), RATE, "--reconnect", "--json", *ALL)
    began = joined.peer.wait("subscribed", joined.mark, sensor=0, on=1).facts
    assert began["adapter"] == "first", "another one hears better"
    run.wait_lines(10)
    mark = joined.peer.mark()
    joined.peer.command("unplug", "first")
    ended = joined.peer.wait("disconnected", mark, sensor=0).facts
    again = joined.peer.wait("subscribed", mark, sensor=0, on=1).facts
    assert again["adapter"] == "third", "of those that are left, it hears best"
    run.wait_lines(run.stdout.count("\n") + 10)
    run.interrupt()
    run.end()

    records = [record for record in run.records if "gap" in record or "value" in record]
    places = [place for place, record in enumerate(records) if "gap" in record]
    assert len(places) == 1, run
    old, new = records[: places[0]], records[places[0] + 1 :]
    beats = [[bytes.fromhex(record["value"])[1] - names.BEAT_BASE for record in part] for part in (old, new)]
    for part, before in zip(beats, (began, again)):
        assert part == [(int(before["last"]) + 1 + place) % 100 for place in range(len(part))], run
    # The one that was sent when it was pulled out may have gone with it.
    assert (int(ended["last"]) - beats[0][-1]) % 100 <= 1, run
    gap = records[places[0]]["gap"]
    pause = moment(new[0]) - moment(old[-1])
    assert gap["dropped"] == 0 and 0 < gap["duration"] <= pause, run
    note(f"pulled out: next value {pause:.2f} s after the last, {gap['duration']:.2f} s without a link")


def moment(record: dict) -> float:
    return datetime.datetime.fromisoformat(record["time"]).timestamp()


def test_a_dongle_that_is_plugged_in_is_added(ble, joined):
    joined.peer.command("unplug", "second")
    run = ble.start("scan", "--duplicates", "--json", *ALL)
    run.wait_text(f'"adapter":"hci{joined.management.index_of(names.CENTRAL)}"')
    joined.peer.command("plug", "second")
    joined.power(names.SECOND_CENTRAL)
    run.wait_text(f'"adapter":"{joined.names["second"]}"')
    run.interrupt()
    run.end()


def test_a_dongle_that_comes_back_with_another_address_is_used(ble, joined):
    """As one whose address is written so that it has to start anew: nothing tells that it is the same."""
    run = ble.start("scan", "--duplicates", "--json", *ALL)
    run.wait_text(f'"adapter":"{joined.names["second"]}"')
    joined.peer.command("unplug", "second")
    joined.peer.command("plug", "second", names.WRITTEN)
    try:
        joined.power(names.WRITTEN)
        seen = len(run.stdout)
        run.wait_text(f'"adapter":"{joined.adapter_at(names.WRITTEN)}"', after=seen)
        run.interrupt()
        run.end()
    finally:
        joined.peer.command("unplug", "second")
        joined.peer.command("plug", "second", names.SECOND_CENTRAL)
        joined.power(names.SECOND_CENTRAL)
