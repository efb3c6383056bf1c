"""`ble` beside a bluetoothd that scans, advertises, holds a bonded device and is restarted in the middle: nothing of
ours is lost, and nothing taken from it. Two minutes, or as many as `run --hour MINUTES` says."""

from __future__ import annotations

import faulthandler
import json
import time

import pytest

from lab import names
from lab.account import account, difference, holding
from lab.ble import Ble
from lab.mgmt import Management
from lab.peer import PATIENCE
from lab.world import OUT

pytestmark = pytest.mark.program

OURS, THEIRS, OTHER = (names.FIELD[name] for name in ("ours", "theirs", "other"))
ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
STREAM_SECONDS = 0.5
DROPS = (["lose", "ours"], ["drop", "ours", "0x13"], ["drop", "ours", "0x15"])
# What one part of a run may hold more than the part before it: allocators round, and a cache fills.
GROWTH = 1024  # KiB


def say(text: str) -> None:
    with (OUT / "report").open("a") as report:
        print(text, file=report)


class Ours:
    """The four of `ble` that run all the time, and those that come and go."""

    def __init__(self, world, ble: Ble):
        self.world, self.ble = world, ble
        ble.adapter = f"hci{world.index}"
        ble.good("pair", f"{OURS}/random")
        self.scan = ble.start("scan", "--json")
        self.notify = ble.start("notify", f"{OURS}/random", names.NUMBERS, "--reconnect", "--json")
        self.serve = Ble(f"hci{world.serving}").start("serve", "--profile", "echo", "--json")
        ble.runs.append(self.serve)
        self.serve.wait_lines()
        self.notify.wait_lines()
        self.start = time.monotonic()
        self.drops = 0
        self.holdings = {name: [] for name in ("scan", "notify", "serve")}

    def take_stock(self) -> None:
        for name, holdings in self.holdings.items():
            holdings.append(holding(getattr(self, name).process.pid, time.monotonic() - self.start))

    def pair_other(self) -> None:
        # A bluetoothd that is killed brings back the keys of a device that was unpaired and is still in range.
        self.ble.start("unpair", OTHER).end()
        self.ble.good("pair", f"{OTHER}/random")
        assert self.ble.good("read", OTHER, names.SECRET, "--json").values == [names.SECRET_BYTES]
        self.ble.good("unpair", OTHER)
        self.world.field.command("forget", "other")


class Theirs:
    """What the program beside us has bluetoothd do."""

    def __init__(self, world):
        self.world, self.peer = world, world.theirs
        self.unheard: set[int] = set()  # what was sent while nobody held bluetoothd's end of the link
        self.peer.command("bond", THEIRS)
        self.peer.command("advertise", f"hci{world.serving}")
        self.follow()

    def follow(self) -> None:
        mark = self.world.field.mark()
        self.peer.command("follow", names.NUMBERS)
        self.world.field.wait("subscribed", mark, sensor="theirs", on=1)

    def anew(self) -> None:
        """After bluetoothd has gone: all as before, and the link as secure."""
        mark = self.world.field.mark()
        self.peer.command("anew")
        self.peer.command("advertise", f"hci{self.world.serving}")
        self.peer.command("again", THEIRS)
        self.world.field.wait("encrypted", mark, sensor="theirs", on=1)
        self.follow()

    def check(self) -> None:
        facts = json.loads(self.peer.command("facts"))
        assert facts["Paired"] and facts["Bonded"] and facts["Connected"], facts
        assert bytes.fromhex(self.peer.command("read", names.SECRET)) == names.SECRET_BYTES
        assert self.peer.command("active", f"hci{self.world.serving}") == "1"

    @property
    def numbers(self) -> list[int]:
        return [int(event.facts["value"]) for event in self.peer.since(0, "number")]


class Served:
    """The central that `ble serve` has: it writes numbers, and each comes back to it."""

    def __init__(self, world):
        self.world, self.peer = world, world.central
        self.written = 0
        self.begin()

    def begin(self) -> None:
        self.peer.command("connect", "0", self.world.address)
        self.peer.command("subscribe", "0", ECHO)
        self.peer.command("stream", "0", ECHO, str(STREAM_SECONDS))

    def end(self) -> None:
        self.written = int(self.peer.command("still", "0"))
        self.peer.wait("notified", hex=f"{self.written:08x}")
        mark = self.peer.mark()
        self.peer.command("disconnect", "0")
        self.peer.wait("disconnected", mark)

    @property
    def echoed(self) -> list[int]:
        return [int(event.facts["hex"], 16) for event in self.peer.since(0, "notified")]


def cycle(number: int, world, ours: Ours, theirs: Theirs, served: Served) -> None:
    """Everything once: a visitor that both see, a pairing of ours beside theirs, a link that is lost."""
    visitor = names.visitor(number)
    world.theirs.command("scan", "on")
    world.field.command("visit", visitor)
    ours.scan.wait_text(visitor)
    world.theirs.command("seen", visitor)
    world.field.command("leave")
    world.theirs.command("scan", "off")

    ours.pair_other()

    # Not each time: a session waits longer and longer for a link that never stands for long.
    if number % 3 == 0:
        mark, told = world.field.mark(), len(ours.notify.stdout)
        world.field.command(*DROPS[ours.drops % len(DROPS)])
        world.field.wait("subscribed", mark, sensor="ours", on=1)
        # How much is missing is known with the next value: this may be the last cycle, behind which none is sent.
        ours.notify.wait_text('"gap"', after=told)
        ours.notify.wait_text('"value"', after=ours.notify.stdout.find('"gap"', told))
        ours.drops += 1
    if number % 3 == 2:
        served.end()
        served.begin()
    theirs.check()
    ours.take_stock()


def restart(world, ours: Ours, theirs: Theirs) -> None:
    """bluetoothd goes and comes again; our links stay."""
    mark, drops = world.field.mark(), world.central.mark()
    written = len(ours.serve.stdout)
    world.daemon.process.kill()
    # The next one would take the dying link for one that it has, and wait for ever for its services.
    gone = world.field.wait("disconnected", mark, sensor="theirs")
    theirs.unheard |= set(range(max(theirs.numbers) + 1, int(gone.facts["last"]) + 1))
    world.restart_bluetoothd()
    theirs.anew()
    # Each goes on over it, on the link that it had.
    world.central.wait("notified", world.central.mark())
    assert ours.serve.stdout.find('"written"', written) > 0
    assert not world.field.since(mark, "disconnected", sensor="ours"), "our link did not stay"
    assert not world.central.since(drops, "disconnected"), "the link of our central did not stay"
    theirs.check()


def test_an_hour_beside_bluetoothd(neighbourhood, ble, minutes):
    world = neighbourhood
    faulthandler.dump_traceback_later(minutes * 60 + 600)
    ours = Ours(world, ble)
    theirs = Theirs(world)
    served = Served(world)
    cycles, is_restarted = 0, False
    while (elapsed := time.monotonic() - ours.start) < minutes * 60 or not is_restarted:
        if not is_restarted and elapsed >= minutes * 30:
            restart(world, ours, theirs)
            is_restarted = True
        cycle(cycles, world, ours, theirs, served)
        cycles += 1
    say(f"{cycles} cycles in {elapsed / 60:.1f} minutes, bluetoothd {'' if is_restarted else 'not '}restarted")
    settle(world, ours, theirs, served)
    faulthandler.cancel_dump_traceback_later()


def settle(world, ours: Ours, theirs: Theirs, served: Served) -> None:
    """Accounts for every value, then for what is left behind."""
    world.field.command("hush")
    served.end()
    for name in ours.holdings:
        (OUT / f"{name}.jsonl").write_text(getattr(ours, name).stdout)
    sent = {name: int(world.field.command("sent", name)) for name in ("ours", "theirs")}
    world.theirs.wait("number", value=sent["theirs"])
    ours.notify.wait_text(f'"value":"{sent["ours"].to_bytes(4, "little").hex()}"')
    settle_ours(ours, sent["ours"])
    settle_served(ours, served)
    numbers = theirs.numbers
    say(f"theirs: {sent['theirs']:,} sent, {len(numbers):,} received, {len(theirs.unheard)} sent to a dead bluetoothd")
    refused = len(theirs.peer.since(0, "refused"))
    say(f"theirs: bluetoothd was refused a discovery or a connection {refused} times, and asked again")
    assert numbers == [number for number in range(1, sent["theirs"] + 1) if number not in theirs.unheard]
    settle_holdings(ours)
    settle_kernel(world, ours, theirs)


def settle_ours(ours: Ours, sent: int) -> None:
    accounted = account(ours.notify.records)
    lengths = [gap["duration"] for gap in accounted.gaps]
    say(
        f"ours: {sent:,} sent, {accounted.received:,} received, {accounted.missing} missing behind "
        f"{len(accounted.gaps)} gaps of {min(lengths):.2f} … {max(lengths):.2f} s"
    )
    assert accounted.received + accounted.missing == sent
    assert len(accounted.gaps) == ours.drops
    assert all(gap.get("reason") for gap in accounted.gaps), accounted.gaps


def settle_served(ours: Ours, served: Served) -> None:
    events = ours.serve.records
    written = [int(event["value"], 16) for event in events if event["event"] == "written"]
    say(f"served: {served.written:,} written, {len(written):,} taken, {len(served.echoed):,} brought back")
    assert written == served.echoed == list(range(1, served.written + 1))


def settle_holdings(ours: Ours) -> None:
    """Flat from the first quarter on: until then what is needed once is fetched."""
    for name, holdings in ours.holdings.items():
        early = holdings[: max(1, len(holdings) // 4)][-1]
        middle, late = holdings[len(holdings) // 2], holdings[-1]
        say(f"{name}: at first {holdings[0]}; after {early.seconds:.0f} s {early}; in the middle {middle}; at the end {late}")
        if news := difference(early.files, late.files):
            say(f"{name} has {news}")
        # A scan has 14 or 15 at different moments; which one is new is told above.
        assert late.descriptors <= early.descriptors + 1, f"{name}: {list(map(str, holdings))}"
        assert late.resident <= early.resident + GROWTH, f"{name}: {list(map(str, holdings))}"


def settle_kernel(world, ours: Ours, theirs: Theirs) -> None:
    theirs.check()
    management = Management()
    assert {OURS, THEIRS} <= management.keys(world.index)
    for run in (ours.notify, ours.scan, ours.serve):
        run.interrupt()
        assert run.end(within=PATIENCE).status == 130, run
    # Our bond is still one.
    assert ours.ble.good("read", OURS, names.SECRET, "--json").values == [names.SECRET_BYTES]
    theirs.check()
    assert management.connections(world.index) == [THEIRS]
    assert management.connections(world.serving) == []
    assert management.advertisements(world.serving) == 1, "bluetoothd's is to be the only one"
    assert not any(management.monitors(index) for index in (world.index, world.serving))
    assert not management.discovering(world.index)
