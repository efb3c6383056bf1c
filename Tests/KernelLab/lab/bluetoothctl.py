"""Runs bluetoothctl at a terminal, as a person does."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import threading
import time
from pathlib import Path

from lab.peer import PATIENCE

# The escape sequences of its line editor.
PAINT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\x01|\x02")


class Bluetoothctl:
    def __init__(self, agent: str, log: Path):
        self.log = log
        self.said = ""
        self.changed = threading.Condition()
        self.terminal, end = pty.openpty()
        environment = os.environ | {"TERM": "dumb"}
        self.process = subprocess.Popen(
            ["bluetoothctl", f"--agent={agent}"], stdin=end, stdout=end, stderr=end, env=environment, cwd="/"
        )
        os.close(end)
        threading.Thread(target=self.read, daemon=True).start()
        self.wait("Agent registered")

    def read(self) -> None:
        while True:
            try:
                octets = os.read(self.terminal, 4096)
            except OSError:  # it has ended
                octets = b""
            with self.changed:
                self.said += PAINT.sub("", octets.decode(errors="replace"))
                self.changed.notify_all()
            if not octets:
                return

    def wait(self, pattern: str, after: int = 0) -> re.Match:
        """The first match in its output from that place on."""
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while not (found := re.compile(pattern).search(self.said, after)):
                remaining = deadline - time.monotonic()
                assert remaining > 0 and self.process.poll() is None, f"no {pattern!r}\n{self.said[-3000:]}"
                self.changed.wait(remaining)
        return found

    def type(self, line: str) -> int:
        """Types a line; returns the place from which to search for the reply."""
        with self.changed:
            place = len(self.said)
        os.write(self.terminal, line.encode() + b"\n")
        return place

    def ask(self, line: str, pattern: str) -> re.Match:
        return self.wait(pattern, self.type(line))

    def stop(self) -> None:
        if self.process.poll() is not None:
            return
        self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.terminal)
        self.log.write_text(self.said)
