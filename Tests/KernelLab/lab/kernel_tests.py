"""Runs the package's own kernel tests in the guest, with every peer at hand.

    python -m lab.kernel_tests [kernel-tests[/REGEX]]

The tests find in their environment
    BLESTREAMS_KERNEL_LAB          1
    BLESTREAMS_LAB_PAIR            two powered adapters on one air (btvirt), with their addresses: hci0=...,hci1=...
    BLESTREAMS_LAB_CENTRAL         the powered adapter that hears Bumble's peripherals: hci2
    BLESTREAMS_LAB_NEAR, _FAR      those peripherals' addresses (random static): one to connect to, one beacon
    BLESTREAMS_LAB_SOCKET          the control socket of peers/peripheral.py
"""

from __future__ import annotations

import os
import subprocess
import sys

from lab import names
from lab.nursery import open_nursery
from lab.world import OUT, RUN, BumbleWorld, VirtualPair


def main(pattern: str) -> int:
    expression = pattern.partition("/")[2] or "Kernel"
    open_nursery()  # before there is any thread
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
    command = [f"{os.environ['LAB_PRODUCTS']}/BLEStreamsPackageTests.xctest", "--testing-library", "swift-testing"]
    # One at a time: the kernel and its adapters are one shared state.
    command += ["--no-parallel", "--filter", expression, "--event-stream-output-path", str(OUT / "events.jsonl")]
    status = subprocess.run(command, env=environment).returncode
    bumble.stop()
    pair.stop()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
