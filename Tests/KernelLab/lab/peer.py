"""The scenarios' end of a peer's control socket: its events, in order, and commands to it."""

from __future__ import annotations

import socket
import threading
import time
from dataclasses import dataclass

# The limit for anything that a peer is expected to do. Generous: the guest is emulated and the machine may be busy.
PATIENCE = 120


@dataclass
class Event:
    time: float
    name: str
    facts: dict[str, str]

    def __str__(self):
        return " ".join([f"{self.time:.3f}", self.name, *(f"{key}={value}" for key, value in self.facts.items())])


def parse(line: str) -> Event:
    seconds, name, *facts = line.split()
    return Event(float(seconds), name, dict(fact.split("=", 1) for fact in facts))


class Peer:
    """A mark is a position in the sequence of events; `wait` looks only at what came after it."""

    def __init__(self, path: str):
        self.events: list[Event] = []
        self.replies: list[str] = []
        self.changed = threading.Condition()
        self.ended = False
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        threading.Thread(target=self.read, daemon=True).start()
        self.reply()

    def read(self) -> None:
        for line in self.socket.makefile():
            with self.changed:
                if line.startswith("= "):
                    self.replies.append(line[2:].strip())
                else:
                    self.events.append(parse(line))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def close(self) -> None:
        self.socket.close()

    def until(self, found, what: str, within: float):
        """Waits until `found()` returns something other than None."""
        deadline = time.monotonic() + within
        with self.changed:
            while (result := found()) is None:
                remaining = deadline - time.monotonic()
                if self.ended or remaining <= 0:
                    why = "the peer has ended" if self.ended else f"not within {within} s"
                    raise AssertionError(f"{what}: {why}; the peer's last events:\n{self.tail()}")
                self.changed.wait(remaining)
            return result

    def reply(self, within: float = PATIENCE) -> str:
        reply = self.until(lambda: self.replies.pop(0) if self.replies else None, "a reply", within)
        word, _, rest = reply.partition(" ")
        if word != "ok":
            raise AssertionError(f"the peer answered: {reply}")
        return rest

    def command(self, *words: str, within: float = PATIENCE) -> str:
        self.socket.sendall((" ".join(words) + "\n").encode())
        return self.reply(within)

    def mark(self) -> int:
        with self.changed:
            return len(self.events)

    def since(self, mark: int, name: str | None = None, **facts) -> list[Event]:
        with self.changed:
            return [event for event in self.events[mark:] if self.matches(event, name, facts)]

    @staticmethod
    def matches(event: Event, name: str | None, facts: dict) -> bool:
        return name in (None, event.name) and all(event.facts.get(k) == str(v) for k, v in facts.items())

    def wait(self, name: str, mark: int = 0, within: float = PATIENCE, **facts) -> Event:
        """The first event with that name and those facts after the mark."""

        def found():
            return next((event for event in self.events[mark:] if self.matches(event, name, facts)), None)

        return self.until(found, f"waiting for {name} {facts or ''}".strip(), within)

    def tail(self, count: int = 40) -> str:
        return "\n".join(f"    {event}" for event in self.events[-count:])
