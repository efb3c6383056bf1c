"""Pairings of `ble`, as central and as peripheral, with a person at a Bumble device, each as its cell describes."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from lab import names
from lab.ble import Ble
from lab.pairing import ACCEPTED, CAPABILITIES, DEMANDED, NEIGHBOURS, SECURITIES, Cell
from lab.peer import PATIENCE
from lab.served import Served
from lab.world import BumbleWorld

PASSKEY = "062481"
MANNERS = {"display": f"shows {PASSKEY}", "yes-no": "compares", "keyboard": "enters", "none": "none", "all": "all"}
OPTIONS = {"none": ("--just-works",), "all": (), **{c: ("--claim", c) for c in ("display", "yes-no", "keyboard")}}
# The command's messages to a person, and the reason that each one means.
CAUSES = {
    "the passkey entered differs": "wrongPasskey",
    "this device's user or program refused": "refused",
    "did not answer in time": "unanswered",
    "this program can answer neither": "needsAnswers",
    "the peripheral refused": "refusedByPeripheral",
    "did not continue within 30 s": "timedOut",
    "the link ended before the pairing did: closed by the peer": "disconnected",
}
INTERRUPTED = 130


def address_of(cell: Cell) -> str:
    """A separate peer for each combination of abilities: the remains of one pairing neither help nor hinder another."""
    first = "C6" if cell.role == "central" else "E1"
    second = 0xF0 + NEIGHBOURS.index(cell.beside)
    numbers = CAPABILITIES.index(cell.here) + 1, CAPABILITIES.index(cell.there) + 1, SECURITIES.index(cell.security)
    return f"{first}:{second:02X}:17:" + ":".join(f"{number:02X}" for number in numbers)


def is_kept(address: str) -> bool:
    """Whether the command has stored a bond."""
    folder = Path(os.environ["XDG_STATE_HOME"], "blestreams")
    files = folder.glob(f"{address.replace(':', '-')}-*.json")
    return any(json.loads(file.read_text())["record"].get("bonds") for file in files)


class Meeting:
    """The common part of both roles."""

    def __init__(self, ble: Ble, world: BumbleWorld):
        self.ble, self.world, self.peer = ble, world, world.peer
        self.cell: Cell | None = None
        self.address = ""
        self.mark = 0

    def hold(self, cell: Cell) -> str:
        """Runs that pairing from its beginning to its end; returns the outcome."""
        self.cell, self.address = cell, address_of(cell)
        self.prepare()
        self.tell(" ".join(["manner", MANNERS[cell.there], *self.words]))
        self.mark = self.peer.mark()
        self.begin()
        self.play()
        result = self.end()
        self.settle()
        self.look_for_bond(result.startswith("bond"))
        return result

    def look_for_bond(self, is_wanted: bool) -> None:
        """Checks that both the command and the kernel have a bond, or neither."""
        deadline = time.monotonic() + PATIENCE
        while is_wanted and not is_kept(self.address):  # `ble serve` writes it when it has time
            assert time.monotonic() < deadline, f"no bond is kept\n{self.run}"
            time.sleep(0.02)
        found = is_kept(self.address), self.address in self.world.management.keys(self.world.index)
        assert found == (is_wanted, is_wanted), found

    @property
    def words(self) -> list[str]:
        """How the other device pairs, beyond its abilities."""
        cell = self.cell
        words = ["legacy"] if cell.security == "legacy" else []
        if cell.is_unprotectable and cell.outcome != DEMANDED:
            words.append("open")
        if cell.can_dally and cell.outcome not in (ACCEPTED, DEMANDED):
            words.append("refuses" if cell.outcome == "refused there" else "dallies")
        return words

    def tell(self, words: str) -> str:
        """Sends a command to the Bumble device."""
        raise NotImplementedError

    # The output of both

    @property
    def said(self) -> str:
        """The command's output to its person in this pairing."""
        raise NotImplementedError

    @property
    def is_over(self) -> bool:
        """Whether the pairing has ended: no more questions follow."""
        raise NotImplementedError

    def wait_said(self, text: str) -> None:
        self.until(lambda: text in self.said or None, f"{text!r} was not asked")

    def heard(self, event: str, **facts) -> dict[str, str]:
        """The first such event of the other device."""
        return self.until(lambda: next(iter(self.peer.since(self.mark, event, **facts)), None), f"no {event} {facts}").facts

    def until(self, found, what: str):
        deadline = time.monotonic() + PATIENCE
        while (result := found()) is None:
            assert not self.is_over, f"{what}, and the pairing is over\n{self.run}"
            assert time.monotonic() < deadline, f"{what}\n{self.run}"
            time.sleep(0.02)
        return result

    @property
    def observed(self) -> tuple[str | None, str | None]:
        """The questions asked here, and there."""
        here = {"shows (": "enter", "Type ": "show", "(y/n)": "compare"}
        found = {what for text, what in here.items() if text in self.said}
        events = self.peer.since(self.mark)
        there = {"show" for event in events if event.name == "shown"}
        kinds = {"passkey": "enter", "comparison": "compare"}
        there |= {kinds[e.facts["what"]] for e in events if e.name == "asked" and e.facts["what"] in kinds}
        assert len(found) < 2 and len(there) < 2, (found, there)
        return next(iter(found), None), next(iter(there), None)

    # The actions of both

    def play(self) -> None:
        """Waits for all questions, then acts as the cell describes."""
        cell, outcome = self.cell, self.cell.outcome
        number = self.wait_questions()
        if outcome == "cancelled":
            return self.run.interrupt()
        if outcome == "link dropped":
            return self.drop()
        wrong = f"{(int(number or 0) + 1) % 1_000_000:06}"
        there = {"enter": wrong if outcome == "wrong" else number or PASSKEY, "compare": "yes"}.get(cell.asks_there)
        # If both enter, only one of them is wrong.
        both = (cell.asks_here, cell.asks_there) == ("enter", "enter")
        is_wrong_here = outcome == "wrong" and not both
        here = {"enter": wrong if is_wrong_here else number or PASSKEY, "compare": "y"}.get(cell.asks_here)
        if outcome == "refused here":
            here = {"enter": "", "compare": "n"}[cell.asks_here]
        if outcome == "refused there":
            there = "no" if cell.asks_there in ("enter", "compare") else None
            here = here if cell.enters_first else None
        if outcome == "unanswered here":
            here = None
        if cell.enters_first:
            if here is not None:
                self.run.type(here)
            if here:
                self.heard("asked", what="passkey")
            here, there = None, there if here else None
        if there and outcome != "unanswered there":
            self.tell(f"types {there}")
        if here is not None:
            self.run.type(here)

    def wait_questions(self) -> str | None:
        """Waits until both are asked what the method requires; returns the number that one of them shows."""
        cell, number = self.cell, None
        if "dallies" in self.words:
            self.heard("asked", what="consent")
        if cell.asks_there == "show":
            number = self.heard("shown")["number"]
        if cell.asks_there == "compare":
            number = self.heard("asked", what="comparison")["number"]
        if cell.asks_here == "compare":
            self.wait_said(f"show {number}? (y/n)")
        if cell.asks_here == "enter":
            self.wait_said("shows (")
        if cell.asks_here == "show":
            self.wait_said(f" on {self.other}.")
            number = self.said.split("Type ")[1][:6]
        if cell.asks_there == "enter" and not cell.enters_first:
            self.heard("asked", what="passkey")
        return number

    def drop(self) -> None:
        raise NotImplementedError


class Initiating(Meeting):
    """`ble pair`, one run for each pairing."""

    @property
    def other(self) -> str:
        return f"{self.address}/random"

    def prepare(self) -> None:
        self.peer.command("reset")
        self.peer.command("become", self.address)
        self.before = self.world.management.settings(self.world.index)

    def tell(self, words: str) -> str:
        return self.peer.command(words)

    def begin(self) -> None:
        self.run = self.ble.start_at_terminal("pair", self.other, "--json", *OPTIONS[self.cell.here])

    @property
    def said(self) -> str:
        return self.run.stderr

    @property
    def is_over(self) -> bool:
        return self.run.status is not None

    def drop(self) -> None:
        self.peer.command("drop")

    def end(self) -> str:
        run = self.run.end()
        if run.status == INTERRUPTED:
            return "ended"
        if run.status == 0:
            record = run.records[-1]
            assert record["encrypted"], run
            return "bond, authenticated" if record["authenticated"] else "bond"
        assert run.status == 1, run
        message = " ".join(run.stderr.split("ble: ")[-1].split())
        return next((reason for words, reason in CAUSES.items() if words in message), message)

    def settle(self) -> None:
        self.world.wait_silence()
        deadline = time.monotonic() + PATIENCE
        while self.world.management.settings(self.world.index) != self.before:
            assert time.monotonic() < deadline, "the adapter's settings are others"


class Responding(Meeting):
    """`ble serve`, one run for all pairings with the same claimed abilities, except cancelled ones."""

    other = "the central"

    def __init__(self, ble: Ble, world: BumbleWorld):
        super().__init__(ble, world)
        self.served: Served | None = None
        self.claim = ""

    @property
    def run(self):
        return self.served.run

    def prepare(self) -> None:
        if self.served and (self.claim != self.cell.here or self.run.status is not None):
            self.stop()
        if not self.served:
            self.before = self.world.management.settings(self.world.index)
            options = ("--profile", "echo", "--access", "encrypted", "--json", *OPTIONS[self.cell.here])
            self.served, self.claim = Served(self.ble.start_at_terminal("serve", *options)), self.cell.here
        self.ble.runs[:] = [self.run]
        self.world.management.disconnect_all(self.world.index)
        self.tell(f"become {self.address}")

    def tell(self, words: str) -> str:
        verb, _, rest = words.partition(" ")
        return self.peer.command("central", verb, "0", rest)

    def begin(self) -> None:
        self.start = len(self.run.stderr)
        self.first = len(self.served.events)
        self.tell(f"greet {names.CENTRAL}")
        # The first link after the start of a bluetoothd may go to bluetoothd.
        self.until(lambda: "was given to" in self.said or self.has_come or None, "nobody came")
        if not self.has_come:
            self.tell("leave")
            self.tell(f"greet {names.CENTRAL}")
        self.wait("connected")
        self.tell("pair")

    def wait(self, *kinds: str) -> dict:
        """The next event of these kinds."""
        while True:
            events = self.served.events
            for event in events[self.first :]:
                if event["event"] in kinds:
                    return event
            self.run.wait_lines(len(events) + 1)

    @property
    def has_come(self) -> bool:
        return any(event["event"] == "connected" for event in self.served.events[self.first :])

    @property
    def said(self) -> str:
        return self.run.stderr[self.start :]

    @property
    def is_over(self) -> bool:
        new = self.served.events[self.first :]
        return self.run.status is not None or any(event["event"] == "pairing failed" for event in new)

    def drop(self) -> None:
        self.tell("leave")

    def end(self) -> str:
        if self.cell.outcome == "cancelled":
            assert self.run.end().status == INTERRUPTED, self.run
            self.peer.wait("disconnected", self.mark, central="0")
            return "ended"
        event = self.wait("paired", "pairing failed", "disconnected")
        if event["event"] == "disconnected":
            return "nothing is said"
        if event["event"] == "pairing failed":
            return event.get("reason") or event["cause"]
        assert event["bonded"], event
        # Its keys come last: after this event it has reported that it is done.
        self.peer.wait("paired", self.mark, central="0")
        return "bond, authenticated" if event["authenticated"] else "bond"

    def settle(self) -> None:
        if self.run.status is None:
            self.tell("leave")
            self.wait("disconnected")
        deadline = time.monotonic() + PATIENCE
        while self.world.management.connections(self.world.index):
            assert time.monotonic() < deadline, "a link stays up"
            time.sleep(0.05)

    def stop(self) -> None:
        """Ends the run; checks that the adapter is as before."""
        if not self.served:
            return
        if self.run.status is None:
            self.run.interrupt()
            assert self.run.end().status == INTERRUPTED, self.run
        self.served = None
        assert self.world.management.settings(self.world.index) == self.before, "the adapter's settings are others"


def meeting(role: str, ble: Ble, world: BumbleWorld) -> Meeting:
    return {"central": Initiating, "peripheral": Responding}[role](ble, world)

