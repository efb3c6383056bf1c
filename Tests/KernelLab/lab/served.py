"""A run of `ble serve`, by its output."""

from __future__ import annotations

import json
import time

from lab.peer import PATIENCE


class Served:
    """One run of `ble serve`, and its output so far."""

    def __init__(self, run):
        self.run = run
        run.wait_lines()
        assert self.events[0]["event"] == "serving", run

    @property
    def events(self) -> list[dict]:
        return [json.loads(line) for line in self.run.stdout.splitlines()]

    def wait(self, event: str, **facts) -> dict:
        deadline = time.monotonic() + PATIENCE
        while True:
            seen = self.events
            for found in seen:
                if found["event"] == event and all(found.get(key) == value for key, value in facts.items()):
                    return found
            assert time.monotonic() < deadline, f"no {event} {facts}\n{self.run}"
            self.run.wait_lines(len(seen) + 1)

    def wait_count(self, event: str, count: int) -> None:
        """Waits until it has printed that number of events of this kind."""
        deadline = time.monotonic() + PATIENCE
        while True:
            seen = self.events
            if sum(found["event"] == event for found in seen) >= count:
                return
            assert time.monotonic() < deadline, f"no {count} {event}\n{self.run}"
            self.run.wait_lines(len(seen) + 1)

    def came(self) -> bool:
        """Whether a central's link came to it: it prints either that, or who received the link."""

        def told():
            return '"connected"' in self.run.stdout or "was given to" in self.run.stderr

        with self.run.changed:
            assert self.run.changed.wait_for(told, PATIENCE), self.run
        return '"connected"' in self.run.stdout

    def take(self, world) -> None:
        """Connects the central to it: the first link after the start of a bluetoothd may go to bluetoothd."""
        peer = world.peer
        peer.command(f"open 0 {world.address}")
        if not self.came():
            self.run.wait_text("was given to bluetoothd", "stderr")
            # Works around close-of-unused-link, in bluetoothd.
            peer.command("exchange 0")
            mark = peer.mark()
            peer.command("disconnect 0")
            peer.wait("disconnected", mark)
            peer.command(f"open 0 {world.address}")
        self.wait("connected")
        peer.command("discover 0")

    def stop(self) -> None:
        self.run.interrupt()
        assert self.run.end().status == 130, self.run
