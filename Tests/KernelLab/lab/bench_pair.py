"""btvirt's two adapters, with the C peripheral of the package's benchmarks on the second one; for the bench `speed`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from lab import names
from lab.costs import PROGRAM
from lab.world import Process, VirtualPair


class BenchPair:
    def __init__(self, count: int, size: int):
        self.count, self.size = count, size
        self.pair = VirtualPair()
        self.adapter = f"hci{self.pair.client}"
        self.serve()

    def serve(self) -> None:
        """Starts the peripheral, which notifies so many values of that size at full blast whenever it is subscribed to."""
        self.peripheral = Process(
            "notifier", str(PROGRAM), "--kernel", "peripheral", names.BTVIRT_SERVER, str(self.count), str(self.size)
        )
        self.peripheral.wait_line("ready")
        self.pair.management.advertise(self.pair.server)

    def receive(self, *arguments: str, prefix: list[str] | None = None) -> dict:
        """What a client of the benchmarks' says."""
        return self.told_by([*(prefix or []), str(PROGRAM), "--kernel", *arguments])

    def told_by(self, command: list[str]) -> dict:
        """What a client says that it received, after the link has been ended."""
        environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        run = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
        self.pair.management.disconnect_all(self.pair.client)
        assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"
        return json.loads(run.stdout)

    def stop(self) -> None:
        self.peripheral.stop()
        self.pair.stop()
