"""Runs the `ble` command as a person would, and keeps its output."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

from lab import names
from lab.peer import PATIENCE

PRODUCTS = Path(os.environ.get("LAB_PRODUCTS", "/nowhere")).resolve()
# A release build, as it is deployed; the package's own tests run the debug build.
PROGRAM = Path(os.environ.get("LAB_BLE") or PRODUCTS / "ble")
UNPRIVILEGED = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--inh-caps=-all"]
# What a crashed program prints, whatever its message.
CRASH = ("Fatal error", "Crash:", "stack dump", "Segmentation fault", "Illegal instruction")


class Run:
    """One run of the command."""

    def __init__(
        self, arguments: tuple[str, ...], prefix: list[str], program: Path = PROGRAM, at_terminal: bool = False
    ):
        self.arguments = [str(argument) for argument in arguments]
        self.output = {"stdout": "", "stderr": ""}
        self.ended: set[str] = set()
        self.changed = threading.Condition()
        self.attention = threading.Event()
        self.attention.set()
        self.started = time.monotonic()
        self.terminal, end = pty.openpty() if at_terminal else (None, None)
        self.process = subprocess.Popen(
            [*prefix, str(program), *self.arguments],
            stdin=end if at_terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=end if at_terminal else subprocess.PIPE,
            text=True,
            errors="replace",
            cwd="/",
        )
        if at_terminal:
            os.close(end)
        self.readers = [
            threading.Thread(target=self.read, args=("stdout", self.process.stdout), daemon=True),
            threading.Thread(target=self.read_terminal, daemon=True)
            if at_terminal
            else threading.Thread(target=self.read, args=("stderr", self.process.stderr), daemon=True),
        ]
        for reader in self.readers:
            reader.start()

    def read(self, name: str, pipe) -> None:
        with pipe:  # so that thousands of runs leave no descriptors open
            for line in pipe:
                self.attention.wait()
                with self.changed:
                    self.output[name] += line
                    self.changed.notify_all()
        with self.changed:
            self.ended.add(name)
            self.changed.notify_all()

    def read_terminal(self) -> None:
        """Reads the output at its terminal, including text without a line end: a question."""
        while True:
            try:
                octets = os.read(self.terminal, 4096)
            except OSError:  # the other end is closed
                octets = b""
            with self.changed:
                self.output["stderr"] += octets.decode(errors="replace")
                if not octets:
                    self.ended.add("stderr")
                self.changed.notify_all()
            if not octets:
                os.close(self.terminal)
                return

    def wait_question(self, text: str, times: int = 1) -> None:
        """Waits until it has asked that at its terminal, a number of times; text typed earlier is not an answer."""
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while self.stderr.count(text) < times:
                remaining = deadline - time.monotonic()
                assert "stderr" not in self.ended and remaining > 0, f"not asked {text!r}\n{self}"
                self.changed.wait(remaining)

    def type(self, text: str) -> None:
        """Types a line at the terminal."""
        os.write(self.terminal, text.encode() + b"\n")

    @property
    def stdout(self) -> str:
        return self.output["stdout"]

    @property
    def stderr(self) -> str:
        return self.output["stderr"]

    @property
    def status(self) -> int | None:
        return self.process.poll()

    def wait_lines(self, count: int = 1, name: str = "stdout", within: float = PATIENCE) -> None:
        """Waits until that many lines have been printed."""
        deadline = time.monotonic() + within
        with self.changed:
            while self.output[name].count("\n") < count:
                remaining = deadline - time.monotonic()
                assert name not in self.ended and remaining > 0, f"no line {count} on {name}\n{self}"
                self.changed.wait(remaining)

    def wait_text(self, text: str, name: str = "stdout", within: float = PATIENCE, after: int = 0) -> None:
        """Waits until it has printed a text, after a number of characters; text that was searched is not searched
        again, however long the output is."""
        deadline = time.monotonic() + within
        seen = 0
        with self.changed:
            while self.output[name].find(text, max(after, seen - len(text))) < 0:
                seen = len(self.output[name])
                remaining = deadline - time.monotonic()
                assert name not in self.ended and remaining > 0, f"no {text!r} on {name}\n{self}"
                self.changed.wait(remaining)

    def wait_line(self, *parts: str, within: float = PATIENCE) -> None:
        """Waits until it has printed a whole line with all these parts, however many others come meanwhile."""
        deadline = time.monotonic() + within
        seen = 0
        with self.changed:
            while True:
                end = self.stdout.rfind("\n") + 1
                if any(all(part in line for part in parts) for line in self.stdout[seen:end].splitlines()):
                    return
                seen = max(seen, end)
                remaining = deadline - time.monotonic()
                assert "stdout" not in self.ended and remaining > 0, f"no line with {parts!r} on stdout\n{self}"
                self.changed.wait(remaining)

    def look_away(self) -> None:
        """Stops reading until `look_again`, so that the command blocks when the pipes are full."""
        self.attention.clear()

    def look_again(self) -> None:
        self.attention.set()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def end(self, within: float = PATIENCE) -> Run:
        """Waits for the end. If the command is still running after the time, it hangs, and the scenario fails."""
        try:
            self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"ble hangs: still running after {within} s\n{self}") from None
        for reader in self.readers:
            reader.join(PATIENCE)
        self.seconds = time.monotonic() - self.started
        assert not any(word in self.stderr for word in CRASH), f"ble crashed\n{self}"
        return self

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __str__(self):
        said = [f"$ ble {shlex.join(self.arguments)}\n    status {self.status}"]
        for name, text in self.output.items():
            lines = text.splitlines()
            shown = lines if len(lines) <= 40 else [*lines[:20], f"... {len(lines) - 40} lines ...", *lines[-20:]]
            said += [f"    {name}: {line[:300]}" for line in shown]
        return "\n".join([*said, *self.threads])

    @property
    def threads(self) -> list[str]:
        """What each thread of a command that is still running does: whether one waits, where, and how long it has run."""
        found = []
        for thread in sorted(Path(f"/proc/{self.process.pid}/task").glob("*")) if self.status is None else []:
            try:
                name, place = ((thread / file).read_text().strip() for file in ("comm", "wchan"))
                facts = (thread / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            ticks = int(facts[11]) + int(facts[12])
            found.append(f"    thread {name}: {facts[0]} in {place}, {ticks / os.sysconf('SC_CLK_TCK'):.2f} s of processor")
        return found

    # The output of --json.

    @property
    def records(self) -> list[dict]:
        """stdout as JSON; every line must be JSON."""
        records = []
        for line in self.stdout.splitlines():
            try:
                records.append(json.loads(line))
            except ValueError:
                raise AssertionError(f"not JSON: {line!r}\n{self}") from None
        return records

    @property
    def values(self) -> list[bytes]:
        return [bytes.fromhex(record["value"]) for record in self.records if "value" in record]

    @property
    def sightings(self) -> list[dict]:
        """The reports of a scan, with addresses and UUIDs in one spelling."""
        found = [record for record in self.records if "address" in record]
        for record in found:
            record["address"] = record["address"].upper()
            record["services"] = [names.full(uuid) for uuid in record.get("services", [])]
        return found


class Ble:
    """The command with one adapter. Remembers its runs, for the report of a scenario that failed."""

    def __init__(self, adapter: str | None = None, prefix: list[str] | None = None):
        self.adapter = adapter
        self.prefix = prefix or []
        self.runs: list[Run] = []

    def start(self, *arguments) -> Run:
        common = ("--adapter", self.adapter) if self.adapter else ()
        run = Run((*arguments, *common), self.prefix)
        self.runs.append(run)
        return run

    def start_at_terminal(self, *arguments) -> Run:
        """Starts the command at a terminal, as a person does; `type` answers its questions."""
        common = ("--adapter", self.adapter) if self.adapter else ()
        run = Run((*arguments, *common), self.prefix, at_terminal=True)
        self.runs.append(run)
        return run

    def program(self, name: str, *arguments) -> Run:
        """Starts another of the package's programs, which uses the default adapter."""
        run = Run(arguments, self.prefix, PROGRAM.parent / name)
        self.runs.append(run)
        return run

    def __call__(self, *arguments, within: float = PATIENCE) -> Run:
        """Runs the command to its end, successful or not."""
        return self.start(*arguments).end(within)

    def good(self, *arguments, within: float = PATIENCE) -> Run:
        run = self(*arguments, within=within)
        assert run.status == 0, f"ble was to succeed\n{run}"
        return run

    def bad(self, *arguments, status=(1, 2), says=(), within: float = PATIENCE) -> Run:
        """A run that must fail with one clear message, which contains each of the words given."""
        run = self(*arguments, within=within)
        allowed = (status,) if isinstance(status, int) else status
        assert run.status in allowed, f"ble was to fail with status {allowed}\n{run}"
        message = run.stderr.strip()
        assert message, f"ble failed without a word\n{run}"
        assert len(message.splitlines()) <= 12, f"that is not one clear message\n{run}"
        for words in says:
            choices = (words,) if isinstance(words, str) else words
            found = any(word.lower() in message.lower() for word in choices)
            assert found, f"the message does not say {' or '.join(choices)}\n{run}"
        return run

    def unprivileged(self, capability: str | None = None) -> Ble:
        """The same command as a user without any capability, or with only this one."""
        let_everybody_run(PROGRAM)
        alone = [f"--inh-caps=-all,+{capability}", f"--ambient-caps=+{capability}"]
        twin = Ble(self.adapter, UNPRIVILEGED if capability is None else [*UNPRIVILEGED[:-1], *alone])
        twin.runs = self.runs
        return twin


def let_everybody_run(program: Path) -> None:
    """Makes a program and its libraries, maybe in a user's home, accessible to all. Only the guest's layer changes."""
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = [program, *(Path(word) for line in libraries.splitlines() for word in line.split() if word[0] == "/")]
    for path in paths:
        for place in [path, path.resolve(), *path.parents, *path.resolve().parents]:
            mode = place.stat().st_mode
            wanted = mode | (stat.S_IXOTH if place.is_dir() else stat.S_IROTH | stat.S_IXOTH)
            if wanted != mode:
                place.chmod(stat.S_IMODE(wanted))
