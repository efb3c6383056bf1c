"""Home Assistant's client through `ble proxy`, beside bleak over bluetoothd on the same machine: the advertisements that
arrive of a thousand a second, what one costs, the links that are held at once, and how long a read over them takes. In
turns, in one boot. Runs with `run --speed` only."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from lab import names
from lab.ble import PROGRAM as BLE
from lab.costs import record_run, say, spent, spread
from lab.station import Station
from lab.world import Process

RUNS = 3
# Less than the ten seconds after which the kernel ends a discovery.
COUNT = 6_000
LINKS = 8
MANY = 64  # to see how many are possible
READS = 300
FLOOD = 1000  # advertisements a second
LONG = 600
OVER = ("one", "all")  # the links over which the reads go, in turns
OURS, BLEAK = "ble proxy", "bleak over bluetoothd"


class Lent(Station):
    """The adapter, and those who lend it."""

    def __init__(self):
        super().__init__()
        self.lenders = {OURS: self.proxy, BLEAK: self.daemon}
        made = subprocess.run([BLE, "proxy", "--make-key"], capture_output=True, text=True, check=True)
        self.key = made.stdout.strip()

    @contextlib.contextmanager
    def proxy(self, links: int) -> Iterator[tuple[list[str], dict[str, Process]]]:
        """The command line of a client of the proxy's, and the processes that work for it."""
        options = ["--listen", "127.0.0.1:0", "--key", self.key, "--connections", str(links), "--adapter", self.adapter]
        proxy = Process("proxy", str(BLE), "proxy", "--json", *options)
        try:
            port = json.loads(proxy.wait_line("endpoint"))["endpoint"].rpartition(":")[2]
            yield ["peers.proxied_client", port, self.key], {"proxy": proxy}
        finally:
            proxy.stop()

    @contextlib.contextmanager
    def daemon(self, links: int) -> Iterator[tuple[list[str], dict[str, Process]]]:
        with self.bluetoothd() as neighbour:
            yield ["peers.bleak_client", self.adapter], {"bluetoothd": neighbour.daemon, "bus": neighbour.bus}

    @contextlib.contextmanager
    def client(self, command: list[str], *words: str) -> Iterator[Process]:
        client = Process(command[0].rpartition(".")[2], sys.executable, "-m", *command, *words)
        try:
            yield client
        finally:
            client.stop()

    def ask(self, client: Process, word: str) -> dict:
        """What the client tells when it gets a signal."""
        client.lines.clear()
        client.process.send_signal(signal.SIGUSR1)
        return json.loads(client.wait_line(f"{word} {{", LONG).removeprefix(word))

    def listen(self, lend) -> dict:
        """What arrives of the advertisements, and what each of the processes spends."""
        self.silence()
        self.peer.command("rate", str(FLOOD))
        with lend(LINKS) as (command, processes), self.client(command, "listen") as client:
            client.wait_line("listening")
            processes = processes | {"client": client}
            self.peer.command("until", "1")
            earlier, begin = self.ask(client, "heard"), time.monotonic()
            before = {name: spent(process) for name, process in processes.items()}
            seconds = float(self.peer.command("until", str(COUNT)))
            costs = {name: (spent(process) - before[name]) / COUNT * 1e6 for name, process in processes.items()}
            heard, end = self.ask(client, "heard"), time.monotonic()
        told = {name: heard[name] - earlier[name] for name in heard if name != "devices"}
        arrived = told.get("arrived", told["reports"])
        return {"seconds": seconds, "costs": costs, "devices": heard["devices"], "rate": arrived / (end - begin)} | told

    def link(self, lend, links: int = LINKS) -> dict:
        """Links, and reads over them: while nobody else is heard, and while the others advertise."""
        self.silence()
        self.peer.command("rate", "0")
        addresses = [names.crowd(number) for number in range(links)]
        self.peer.command("crowd", str(links))
        words = ["read", names.full(names.BODY_SENSOR_LOCATION), str(READS), *addresses]
        with lend(links) as (command, _), self.client(command, *words) as client:
            client.wait_line("ready", LONG)
            calm = self.read(client)
            self.peer.command("rate", str(FLOOD))
            busy = self.read(client)
        self.management.disconnect_all(self.index)
        self.peer.command("leave")
        return {"calm": calm, "busy": busy}

    def read(self, client: Process) -> dict:
        """The links, what was heard of a second's advertisements meanwhile, how many reads had no answer within a
        minute of all, and the median and the 99th percentile of the others, milliseconds."""
        heard, begin = int(self.peer.command("heard")), time.monotonic()
        told = self.ask(client, "read")
        rate = (int(self.peer.command("heard")) - heard) / (time.monotonic() - begin)
        failed = sum(READS - len(told[over]) + told[over].count(None) for over in OVER)
        return {"links": told["links"], "rate": rate, "failed": failed} | {over: percentiles(told[over]) for over in OVER}

    @functools.cached_property
    def turns(self) -> dict[str, list[dict]]:
        turns: dict[str, list[dict]] = {name: [] for name in self.lenders}
        for _ in range(RUNS):
            for name, lend in self.lenders.items():
                turns[name].append(self.listen(lend) | self.link(lend))
                record_run(name, turns[name][-1])
        for name, runs in turns.items():
            report(name, runs)
        return turns


def percentiles(figures: list[float | None]) -> tuple[float, float]:
    answered = [figure for figure in figures if figure is not None]
    parts = statistics.quantiles(answered, n=100) if len(answered) > 1 else [math.inf] * 99
    return parts[49], parts[98]


def cost(run: dict) -> float:
    """What an advertisement takes of those who lend the adapter, microseconds; the client is the user's."""
    return sum(figure for part, figure in run["costs"].items() if part != "client")


def report(name: str, runs: list[dict]) -> None:
    rate = COUNT / statistics.median(run["seconds"] for run in runs)
    parts = {part: statistics.median(run["costs"][part] for run in runs) for part in runs[0]["costs"]}
    say(
        f"{name}: of {rate:,.0f} advertisements a second {spread([run['rate'] for run in runs], '', 0)} arrived, "
        f"of {spread([run['devices'] for run in runs], ' devices', 0)}; processor time of one: "
        f"{spread([cost(run) for run in runs], ' µs', 1)}; "
        f"{', '.join(f'{part} {figure:.1f}' for part, figure in parts.items())}"
    )
    report_reads(name, runs)


def report_reads(name: str, runs: list[dict]) -> None:
    for state in ("calm", "busy"):
        for over in OVER:
            medians, late = zip(*(run[state][over] for run in runs))
            links = min(run[state]["links"] for run in runs)
            rate = statistics.median(run[state]["rate"] for run in runs)
            say(
                f"{name}, {links} links, {rate:,.0f} advertisements a second: a read over {over}: "
                f"median {spread(medians, ' ms', 1)}, p99 {spread(late, ' ms', 1)}"
            )
        failed = sum(run[state]["failed"] for run in runs)
        say(f"{name}: {failed} reads had no answer in time, of {len(runs) * len(OVER) * READS:,}")


@pytest.fixture(scope="module")
def lent():
    lent = Lent()
    yield lent
    lent.stop()


def test_the_proxy_passes_on_what_is_heard(lent):
    """All but what is under way at the beginning and the end."""
    for run in lent.turns[OURS]:
        assert run["arrived"] >= 0.9 * COUNT, run


def test_an_advertisement_costs_no_more(lent):
    costs = {name: statistics.median(cost(run) for run in runs) for name, runs in lent.turns.items()}
    assert costs[OURS] <= costs[BLEAK], costs


def test_eight_links_are_held_and_every_read_is_answered(lent):
    for run in lent.turns[OURS]:
        assert run["calm"]["failed"] == run["busy"]["failed"] == 0, run
        assert (run["calm"]["links"], run["busy"]["links"]) == (LINKS, LINKS), run


def test_as_many_links_as_wanted_are_held(lent):
    """As far as the emulated controller goes."""
    runs = {name: lent.link(lend, MANY) for name, lend in lent.lenders.items()}
    for name, run in runs.items():
        record_run(f"{name}, {MANY} links", run)
        report_reads(f"{name}, {MANY} links wanted", [run])
    assert runs[OURS]["busy"]["links"] == MANY, runs


def test_a_read_takes_no_longer(lent):
    reads = {name: statistics.median(run["calm"]["one"][0] for run in runs) for name, runs in lent.turns.items()}
    assert reads[OURS] <= reads[BLEAK], reads
