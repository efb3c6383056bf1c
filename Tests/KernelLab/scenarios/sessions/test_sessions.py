"""Sessions on the real kernel: links that are lost, adapters that go and come, programs that are killed."""

import json
import os
import random
import shutil
import time

import pytest

from lab import names
from lab.ble import PATIENCE, Ble
from lab.figures import note

REQUESTS = ("0x02", "0x04", "0x06", "0x08", "0x0a", "0x0c", "0x0e", "0x10", "0x12", "0x20")


def follow(ble):
    return ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json", "-v")


def wait_more(run, count=5):
    run.wait_lines(len(run.stdout.splitlines()) + count)


def rates(run):
    """The values between gaps, each a list."""
    parts = [[]]
    for record in run.records:
        if "gap" in record:
            parts.append([])
        elif "value" in record:
            parts[-1].append(bytes.fromhex(record["value"])[1] - 60)
    return parts


def check(run, gaps):
    """Every value that was sent on a link is there, in order, once; each absence is a gap."""
    parts = rates(run)
    assert len(parts) == gaps + 1, f"{len(parts) - 1} gaps\n{run}"
    for part in parts:
        assert part, run
        assert all((a + 1) % 100 == b for a, b in zip(part, part[1:])), f"{part}\n{run}"


def test_ten_links_that_are_lost_at_random(ble, bumble):
    run = follow(ble)
    wait_more(run)
    for _ in range(10):
        mark = bumble.peer.mark()
        bumble.peer.command(*random.choice([["lose"], ["drop", "0x13"], ["drop", "0x15"], ["drop", "0x08"]]))
        bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
        wait_more(run, random.randint(2, 12))
    run.interrupt()
    assert run.end().status == 130, run
    check(run, 10)
    note("links lost: gaps of " + ", ".join(f"{r['gap']['duration']:.2f}" for r in run.records if "gap" in r) + " s")
    bumble.peer.wait("disconnected", mark)


@pytest.mark.main_job
def test_an_adapter_that_is_switched_off_and_on(ble, bumble):
    run = follow(ble)
    wait_more(run)
    mark = bumble.peer.mark()
    bumble.management.power(bumble.index, False)
    bumble.peer.wait("disconnected", mark)
    wait_for(run, "switched off")
    bumble.management.power(bumble.index, True)
    began = time.monotonic()
    bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
    note(f"adapter switched on: subscribed after {time.monotonic() - began:.2f} s")
    wait_more(run)
    run.interrupt()
    assert run.end().status == 130, run
    check(run, 1)


def test_adapter_gone(ble, bumble):
    """It is unplugged, and comes back under another number."""
    run = follow(ble)
    wait_more(run)
    before = bumble.index
    mark = bumble.peer.mark()
    bumble.peer.command("unplug")
    wait_for(run, "not plugged in")
    other = adapter_with_number(before)
    try:
        bumble.peer.command("plug")
        index = bumble.management.index_of(names.CENTRAL)
        assert index != before
        bumble.management.power(index, True)
        began = time.monotonic()
        bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
        note(f"adapter plugged in as another one: subscribed after {time.monotonic() - began:.2f} s")
        wait_more(run)
        run.interrupt()
        assert run.end().status == 130, run
        check(run, 1)
    finally:
        # As the next scenario expects it.
        bumble.peer.command("unplug")
        os.close(other)
        time.sleep(1)
        bumble.peer.command("plug")
        bumble.index = bumble.management.index_of(names.CENTRAL)
        bumble.management.power(bumble.index, True)


@pytest.mark.parametrize("choice", ["name", "all"])
def test_an_adapter_whose_address_is_written(ble, bumble, choice):
    """It has another address when it is switched on again, as one that a program at boot gives its own; it was never gone."""
    command = ble if choice == "name" else Ble("all")
    run = follow(command)
    try:
        wait_more(run)
        for address in (names.WRITTEN, names.CENTRAL):
            mark = bumble.peer.mark()
            bumble.management.power(bumble.index, False)
            bumble.peer.wait("disconnected", mark)
            bumble.peer.command("address", address)
            bumble.management.power(bumble.index, True)
            assert bumble.management.address(bumble.index) == address
            began = time.monotonic()
            bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
            note(f"address written ({choice}): subscribed after {time.monotonic() - began:.2f} s")
            wait_more(run)
        run.interrupt()
        assert run.end().status == 130, run
        check(run, 2)
    finally:
        if command is not ble:
            ble.runs.extend(command.runs)


def adapter_with_number(number, within=PATIENCE):
    """Plugs in an adapter that takes this number, and answers what unplugs it when it is closed.

    The number is free once the program has noticed that its adapter is gone, and closed the sockets that held it.
    """
    deadline = time.monotonic() + within
    while True:
        adapter = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK)
        os.write(adapter, bytes([0xFF, 0]))
        # A vendor packet says which number it got: hci_vhci.c, vhci_create_device.
        if int.from_bytes(os.read(adapter, 4)[2:], "little") == number:
            return adapter
        os.close(adapter)
        assert time.monotonic() < deadline, f"the number {number} is not free within {within} s"


def wait_for(run, text, within=PATIENCE, stream="stderr"):
    """Until the program has said that."""
    deadline = time.monotonic() + within
    with run.changed:
        while text not in run.output[stream]:
            remaining = deadline - time.monotonic()
            assert remaining > 0, f"it never said '{text}'\n{run}"
            run.changed.wait(remaining)


@pytest.mark.parametrize("bonded", [False, True], ids=["", "bonded"])
@pytest.mark.parametrize("pause", [0, 5], ids=["at-once", "after-the-kernel-dropped-the-link"])
def test_a_program_that_is_killed_and_started_again(ble, bumble, pause, bonded):
    """Within two seconds the kernel still holds the link, and connecting finds it as it was; later there is a new one."""
    shutil.rmtree(os.path.expanduser("~/.local/state/blestreams"), ignore_errors=True)
    if bonded:
        ble.good("pair", names.NEAR)
        bumble.wait_silence()
    bumble.peer.command("requests")
    first = ble.program("Fleet", "--keep", f"{names.NEAR}/random")
    first.wait_lines(30)
    fresh = requests(bumble)
    first.kill()
    time.sleep(pause)
    bumble.peer.command("requests")
    mark = bumble.peer.mark()
    began = time.monotonic()
    second = ble.program("Fleet", "--keep")
    wait_for(second, " bpm", stream="stdout")
    elapsed = time.monotonic() - began
    needed = requests(bumble)
    resumed = "" if bumble.peer.since(mark, "connected") else ", on the link that stood"
    how = f"killed{', bonded' if bonded else ''}, started again after {pause} s"
    note(f"{how}: a value after {elapsed:.2f} s and {len(needed)} requests ({' '.join(needed)}){resumed}; first run {len(fresh)}")
    assert "ready" in second.stdout and "scanning" not in second.stdout, second
    second.kill()
    if bonded:
        ble.good("unpair", names.NEAR)


@pytest.mark.parametrize("count", [8])
def test_many_peripherals_at_once(ble, bumble, count):
    """As many as were seen to be carried: of twelve and more one attempt gets lost, and the kernel scans for the rest no
    more. Whether Bumble's controller loses it or the kernel is not known."""
    if os.environ["LAB_KERNEL"] == "6.1":
        pytest.skip("6.1 was seen to connect seven of eight on Bumble's controller; which of the two loses one is not known")
    addresses = [names.crowd(number) for number in range(count)]
    bumble.peer.command("crowd", str(count))
    try:
        began = time.monotonic()
        run = ble.start("notify", *addresses, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json", "-v")
        wait_until(run, lambda: heard(run) >= set(addresses), "all of them")
        note(f"{count} peripherals: all heard after {time.monotonic() - began:.2f} s")
        for _ in range(3):
            gaps = sum("gap" in record for record in lines(run))
            bumble.peer.command("scatter", str(count // 4))
            wait_until(run, lambda: sum("gap" in record for record in lines(run)) >= gaps + count // 4, "the gaps")
        run.interrupt()
        assert run.end().status == 130, run
        for address in addresses:
            parts = [[]]
            for record in lines(run):
                if record.get("address") == address:
                    if "gap" in record:
                        parts.append([])
                    else:
                        parts[-1].append(bytes.fromhex(record["value"])[1] - 60)
            for part in parts:
                assert all((a + 1) % 100 == b for a, b in zip(part, part[1:])), f"{address}: {parts}\n{run}"
    finally:
        bumble.peer.command("leave")


def lines(run):
    return [json.loads(line) for line in run.stdout.splitlines() if line.endswith("}")]


def heard(run):
    return {record["address"] for record in lines(run) if "value" in record}


def wait_until(run, holds, what, within=PATIENCE):
    """Until it holds of what the program has printed."""
    deadline = time.monotonic() + within
    with run.changed:
        while not holds():
            remaining = deadline - time.monotonic()
            assert remaining > 0, f"not within {within} s: {what}\n{run}"
            run.changed.wait(remaining)


def requests(bumble):
    return [code for code in bumble.peer.command("requests").split(",") if code in REQUESTS]
