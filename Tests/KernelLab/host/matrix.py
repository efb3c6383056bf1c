"""The tables of pairings in README.md: the expected values, overlaid with the values that a run measured, and compared.

A cell that differs from the expectation has already failed its scenario. If kernels or neighbours differ, each is
named.
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path

from host.table import README
from lab import pairing
from lab.pairing import CAPABILITIES, METHODS, OUTCOMES, ROLES, SECURITIES

BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"
NOTHING = "–"
WORDS = {"display": "display", "yes-no": "display, yes or no", "keyboard": "keyboard", "none": "nothing", "all": "all"}


def measured(folders: list[Path]) -> list[dict]:
    """The results of the guests."""
    found = []
    for folder in folders:
        path = folder / "matrix.jsonl"
        found += [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return found


def methods() -> str:
    """The method for an initiator in a column and a responder in a row."""
    lines = ["| responder, initiator | " + " | ".join(WORDS[c] for c in CAPABILITIES) + " |"]
    lines += ["|---" * (len(CAPABILITIES) + 1) + "|"]
    for responder in CAPABILITIES:
        cells = []
        for initiator in CAPABILITIES:
            secure, legacy = (pairing.method(initiator, responder, security) for security in SECURITIES)
            cells.append(secure if secure == legacy else f"{secure}; legacy: {legacy}")
        lines.append(f"| **{WORDS[responder]}** | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def outcomes(facts: list[dict]) -> str:
    """The outcome of a pairing, by the role of `ble` and the method."""
    results: dict[tuple[str, str, str], set[str]] = {}
    for role in ROLES:
        for cell in pairing.cells(role):
            results.setdefault((role, cell.method, cell.outcome), set()).add(pairing.expected(cell))
    for fact in facts:
        results.setdefault((fact["role"], fact["method"], fact["outcome"]), set()).add(fact["result"])
    lines = ["| `ble` is | method | " + " | ".join(OUTCOMES) + " |", "|---" * (len(OUTCOMES) + 2) + "|"]
    for role in ROLES:
        for method in METHODS:
            cells = [" or ".join(sorted(results.get((role, method, o), {NOTHING}))) for o in OUTCOMES]
            lines.append(f"| {role} | {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def settle(folders: list[Path], is_accepted: bool) -> bool:
    """Prints the measured tables. False if README has others and that was not accepted."""
    facts = measured(folders)
    text = README.read_text()
    table = f"{methods()}\n\n{outcomes(facts)}"
    before, _, rest = text.partition(BEGIN)
    wanted = f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"
    print(f"\n=== The matrix: {len(facts)} cells measured\n{table}")
    if wanted == text:
        return True
    if is_accepted:
        README.write_text(wanted)
        print("\nThe tables in Tests/KernelLab/README.md are what was measured now.")
        return True
    difference = difflib.unified_diff(text.splitlines(), wanted.splitlines(), "README.md", "measured", lineterm="", n=0)
    print("\nTROUBLE: Tests/KernelLab/README.md is not what was measured; `run --matrix --accept` writes it\n")
    print("\n".join(difference))
    return False
