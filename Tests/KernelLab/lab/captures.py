"""Captures that scenarios let `ble` write: btmon reads them in the guest, Wireshark's tshark on the host.

tshark takes an emulated processor longer than all scenarios with a capture, so it reads what was copied out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

FOLDER = "captures"
OUT = Path("/out") / FOLDER
# What btmon prints in place of what it can't decode. An error of ATT may have the word invalid in its name.
UNDECODED = re.compile(r"malformed|invalid (size|packet|data|length)|truncated", re.IGNORECASE)
# From errors on: tshark takes some handles for those of another characteristic, and warns of that.
FAULTS = "_ws.malformed || _ws.expert.severity >= 0x800000"
ATT_OR_REPORTS = "btatt || bthci_evt.le_meta_subevent == 0x02 || bthci_evt.le_meta_subevent == 0x0d"


def new(name: str) -> Path:
    """Where a scenario lets `ble` write one."""
    OUT.mkdir(exist_ok=True)
    return OUT / f"{name}.btsnoop"


def read_by_btmon(file: Path) -> str:
    """What btmon prints of a capture; it must understand all of it. Its release 5.66 needs an adapter with the number of the
    capture's, switched on, or it crashes; and it reads the services that a bluetoothd has cached for the same addresses in
    other scenarios, and may crash on those, too."""
    for adapter in Path("/var/lib/bluetooth").glob("*:*"):
        shutil.rmtree(adapter)
    result = subprocess.run(["btmon", "-r", str(file)], capture_output=True, text=True, errors="replace", timeout=120)
    assert result.returncode == 0, f"btmon ended with {result.returncode}: {result.stderr}\n{result.stdout[-2000:]}"
    found = UNDECODED.search(result.stdout)
    assert not found, f"btmon: {found.group()}\n{result.stdout[max(0, found.start() - 1000) : found.end() + 500]}"
    return result.stdout


def dissect(folder: Path) -> tuple[list[str], str]:
    """What tshark finds wrong with the captures in a folder, and what it did; nothing if there are none."""
    files = sorted(folder.glob("*.btsnoop"))
    if not files:
        return [], ""
    if not shutil.which("tshark"):
        return [], f"{len(files)} captures were not dissected: tshark is not installed (Debian: tshark)"
    faults = []
    count = 0
    for file in files:
        faults += [f"{file.name}: {line}" for line in packets(file, FAULTS)]
        found = len(packets(file, ATT_OR_REPORTS))
        count += found
        if not found:
            faults.append(f"{file.name}: it has neither ATT nor advertisements")
    said = f"tshark dissected {count} packets of ATT and advertisements in {len(files)} captures"
    return faults, said


def packets(file: Path, wanted: str) -> list[str]:
    """The packets that match, a line each."""
    command = ["tshark", "-r", str(file), "-Y", wanted]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
    return result.stdout.splitlines() + ([] if result.returncode == 0 else [f"tshark failed: {result.stderr.strip()}"])
