"""Runs the package's own kernel tests in the guest, with every peer at hand.

    python -m lab.kernel_tests [kernel-tests[/REGEX]]

Each suite is a process of its own, on adapters that are powered, without links and with nothing left on air.

The tests find in their environment
    BLESTREAMS_KERNEL_LAB          1
    BLESTREAMS_LAB_PAIR            two powered adapters on one air (btvirt), with their addresses: hci0=...,hci1=...
    BLESTREAMS_LAB_CENTRAL         the powered adapter that hears Bumble's peripherals: hci2
    BLESTREAMS_LAB_NEAR, _FAR      those peripherals' addresses (random static): one to connect to, one beacon
    BLESTREAMS_LAB_SOCKET          the control socket of peers/peripheral.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from lab import names
from lab.world import OUT, RUN, BumbleWorld, VirtualPair

TESTS = Path(__file__).resolve().parents[2] / "BLELinuxTests" / "Kernel"


def suites() -> list[str]:
    """The suites of the package's kernel tests."""
    return sorted(path.stem for path in TESTS.glob("Kernel*Tests.swift"))


def main(pattern: str) -> int:
    chosen = pattern.partition("/")[2]
    pair = VirtualPair()
    bumble = BumbleWorld()
    environment = os.environ | {
        "BLESTREAMS_KERNEL_LAB": "1",
        "BLESTREAMS_LAB_PAIR": f"hci{pair.client}={names.BTVIRT_CLIENT},hci{pair.server}={names.BTVIRT_SERVER}",
        "BLESTREAMS_LAB_CENTRAL": bumble.adapter,
        "BLESTREAMS_LAB_NEAR": names.NEAR,
        "BLESTREAMS_LAB_FAR": names.FAR,
        "BLESTREAMS_LAB_SOCKET": str(RUN / "peripheral.sock"),
        "NO_COLOR": "1",
    }
    status = 0
    for expression in [chosen] if chosen else suites():
        make_fresh(pair, bumble)
        status = run(expression, environment) or status
    bumble.stop()
    pair.stop()
    return status


def make_fresh(pair: VirtualPair, bumble: BumbleWorld) -> None:
    # What nobody has read meanwhile may fill the socket's queue, and then nothing can be asked any more.
    bumble.management.forget_events()
    for index in (pair.client, pair.server, bumble.index):
        bumble.management.power(index, True)
        bumble.management.disconnect_all(index)
    bumble.peer.command("reset")
    bumble.management.forget_events()


def run(expression: str, environment: dict[str, str]) -> int:
    """Runs the matching tests; returns their status."""
    command = [f"{os.environ['LAB_PRODUCTS']}/BLEStreamsPackageTests.xctest", "--testing-library", "swift-testing"]
    # One at a time: the kernel and its adapters are one shared state.
    command += ["--no-parallel", "--filter", expression]
    name = re.sub(r"\W", "-", expression)
    command += ["--event-stream-output-path", str(OUT / f"{name}.events.jsonl")]
    status = subprocess.run(command, env=environment).returncode
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
