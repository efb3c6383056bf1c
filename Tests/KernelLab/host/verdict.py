"""Judges the results of one guest. Everything that is not plainly good is bad: a guest that died, nothing run, a test
that is missing or was skipped without a reason, a kernel that complained."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from host.plan import Bench, Guest
from lab import captures, faults

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
NO_REASON = ("", "Skipped", "unconditional skip")  # pytest's words if no reason was given
TIMED_OUT = ("124", "137")
MESSAGE = 600  # the length of a failed test's message in a line of troubles, in characters


@dataclass
class Verdict:
    guest: Guest
    seconds: float
    busy: float = 0  # of the host's processors
    counts: Counter = field(default_factory=Counter)
    skips: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not self.troubles

    def report(self) -> str:
        lines = [f"skipped: {skip}" for skip in self.skips] + self.notes
        lines += [f"TROUBLE: {trouble}" for trouble in self.troubles]
        return "\n".join(lines + self.details) or "all well"

    def line(self) -> str:
        counts = ", ".join(f"{self.counts[outcome]:3} {outcome}" for outcome in (PASSED, FAILED, SKIPPED))
        word = "good" if self.good else "BAD"
        times = f"{self.seconds:4.0f} s, {self.busy:4.0f} s busy"
        return f"{word:5}{self.guest.line:6}{counts}, {times}: {self.guest.title}"


def judge(out: Path, guest: Guest, seconds: float) -> Verdict:
    verdict = Verdict(guest, seconds, busy(read(out / "times")))
    for bench in guest.benches:
        judge_bench(verdict, bench, out)
    judge_end(verdict, out)
    judge_kernel(verdict, out)
    judge_captures(verdict, out)
    if verdict.troubles:
        verdict.details += [tail(path) for path in [*sorted(out.glob("*.log")), out / "dmesg"]]
    return verdict


def judge_bench(verdict: Verdict, bench: Bench, out: Path) -> None:
    outcomes: dict[str, tuple[str, str]] = {}
    if bench.is_kernel_tests:
        for events in sorted(out.glob("*.events.jsonl")):
            outcomes |= read_events(events)
    else:
        outcomes = read_junit(out / f"{bench.name}.xml")
    for name, (outcome, why) in outcomes.items():
        verdict.counts[outcome] += 1
        if outcome == SKIPPED:
            verdict.skips.append(f"{name}: {why}")
            if why.strip() in NO_REASON:
                verdict.troubles.append(f"{bench.name}: {name} was skipped without a reason")
        elif outcome == FAILED:
            verdict.troubles.append(f"{bench.name}: {name} failed" + (f": {why}" if why else ""))
    if all(outcome == SKIPPED for outcome, _ in outcomes.values()):
        verdict.troubles.append(f"{bench.name}: nothing ran")
    missing = [test for test in bench.expected if test_key(test) not in outcomes]
    if outcomes:
        verdict.troubles += [f"{bench.name}: {test} was to run and left no result" for test in missing]


def busy(times: str) -> float:
    """The seconds that the shell's `times` reports for itself and its children, in user mode and in the kernel."""
    return sum(int(minutes) * 60 + float(seconds) for minutes, seconds in re.findall(r"(\d+)m([\d.]+)s", times))


def judge_end(verdict: Verdict, out: Path) -> None:
    status = read(out / "status").strip()
    if not status:
        verdict.troubles.append("the guest died, or was stopped at its deadline")
        verdict.details += [tail(out / "console"), tail(out / "qemu")]
    elif status in TIMED_OUT:
        verdict.troubles.append("the guest was stopped at its deadline")
    elif said := read(out / "nursery").strip():
        verdict.troubles.append(f"the peers' nursery: {said.splitlines()[-1]}")
        verdict.details.append(tail(out / "nursery"))
    elif status != "0" and not verdict.counts[FAILED]:
        hint = " (interrupted: its deadline?)" if status in ("2", "130") else ""
        verdict.troubles.append(f"the bench ended with status {status}{hint}")


def judge_kernel(verdict: Verdict, out: Path) -> None:
    log = read(out / "dmesg") or read(out / "console")
    if not (first := faults.TROUBLE.search(log)):
        return
    start = log.rfind("\n", 0, first.start()) + 1
    excerpt = "\n".join(log[start:].splitlines()[:40])
    names = [f"{fault.name} ({fault.what})" for fault in faults.named(log, verdict.guest.line)]
    known = f"known kernel fault: {'; '.join(names)}" if names else "the kernel complained"
    verdict.troubles.append(known)
    verdict.details.append(f"--- the kernel\n{excerpt}")


def judge_captures(verdict: Verdict, out: Path) -> None:
    troubles, said = captures.dissect(out / captures.FOLDER)
    verdict.troubles += [f"a capture is malformed: {trouble}" for trouble in troubles]
    verdict.notes += [said] if said else []


def read_junit(path: Path) -> dict[str, tuple[str, str]]:
    """pytest's results, by file and test name."""
    if not path.exists():
        return {}
    outcomes: dict[str, tuple[str, str]] = {}
    for case in ElementTree.parse(path).iter("testcase"):
        file = case.get("classname", "").split(".")[-1]
        key = f"{file}::{case.get('name')}"
        kinds = {child.tag: child for child in case}
        if "failure" in kinds or "error" in kinds:
            outcomes[key] = (FAILED, what_failed(kinds.get("failure", kinds.get("error"))))
        elif "skipped" in kinds:
            outcomes[key] = (SKIPPED, kinds["skipped"].get("message", ""))
        else:
            outcomes[key] = (PASSED, "")
    return outcomes


def what_failed(child: ElementTree.Element) -> str:
    """The lines that pytest marks, and the last place that it names, joined in one line."""
    lines = (child.text or "").splitlines()
    said = [line[1:].strip() for line in lines if line.startswith("E ")] or [child.get("message", "")]
    places = [line.split(": ")[0] for line in lines if re.match(r"\S+\.py:\d+: ", line)]
    return shorten(" | ".join(places[-1:] + said), MESSAGE)


def test_key(node: str) -> str:
    """The name of `scenarios/ble/test_scan.py::test_x` in the JUnit file."""
    file, _, test = node.partition("::")
    return f"{Path(file).stem}::{test}"


def read_events(path: Path) -> dict[str, tuple[str, str]]:
    """The outcomes in Swift Testing's event stream: every test function that started or was skipped. One without an end
    failed."""
    outcomes: dict[str, tuple[str, str]] = {}
    functions: set[str] = set()
    for line in read(path).splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue  # the line in which the guest died
        payload = record["payload"]
        if record["kind"] == "test":
            if payload["kind"] == "function":
                functions.add(payload["id"])
            continue
        test = payload.get("testID")
        if test not in functions:
            continue
        messages = [(message["symbol"], message["text"]) for message in payload["messages"]]
        if payload["kind"] == "testStarted":
            outcomes[test] = (FAILED, "it never ended")
        elif payload["kind"] == "testSkipped":
            outcomes[test] = (SKIPPED, reason(messages))
        elif payload["kind"] == "testEnded":
            symbols = [symbol for symbol, _ in messages]
            cancelled = "skip" in symbols
            good = cancelled or not {"fail", "difference"} & set(symbols)
            outcomes[test] = (SKIPPED if cancelled else PASSED if good else FAILED, reason(messages))
    return outcomes


def reason(messages: list[tuple[str, str]]) -> str:
    """The quoted comment that Swift Testing appends to a skipped or cancelled test."""
    quoted = re.search(r'"(.*)"$', " ".join(text for _, text in messages))
    return quoted.group(1) if quoted else ""


def read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""


def shorten(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def tail(path: Path, count: int = 15) -> str:
    return "\n".join([f"--- the end of {path.name}", *read(path).splitlines()[-count:]])
