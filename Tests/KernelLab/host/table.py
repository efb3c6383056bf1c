"""The zoo's table in README.md: read, overlaid with the values that a run measured, and compared.

A cell is `green`, or the number of a note with the words that the command printed; if kernels differ, each is named.
"""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- zoo: begin -->", "<!-- zoo: end -->"
KERNELS = ("6.12", "6.1")
GREEN, NOTHING = "green", "–"

# The measured results, by profile, job and kernel: `green`, or words.
Cells = dict[tuple[str, str, str], str]


def measured(folders: list[Path]) -> Cells:
    """The results of the guests, without red cells: they have failed the run."""
    cells: Cells = {}
    for folder in folders:
        path = folder / "zoo.jsonl"
        for line in path.read_text().splitlines() if path.exists() else []:
            facts = json.loads(line)
            if facts["result"] != "red" and facts["kernel"] in KERNELS:
                words = GREEN if facts["result"] == GREEN else lasting(facts["words"])
                cells[facts["profile"], facts["job"], facts["kernel"]] = words
    return cells


def lasting(words: str) -> str:
    """The words without what differs in each run."""
    words = re.sub(r"\bhci\d+\b", "hciN", words)
    words = re.sub(r"\b(?:[0-9A-F]{2}:){5}[0-9A-F]{2}\b", "ADDRESS", words)
    words = re.sub(r"\b\d+(?:\.\d+)? (seconds|s)\b", r"N \1", words)
    return " ".join(words.split())


def committed(text: str) -> Cells:
    """The cells of the table in a text."""
    body = text.partition(BEGIN)[2].partition(END)[0]
    notes = dict(re.findall(r"^(\d+)\. (.+)$", body, re.MULTILINE))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]
    cells: Cells = {}
    for row in rows[2:]:
        profile = row[0].strip("*")
        for job, cell in zip(rows[0][2:], row[2:], strict=True):
            for part in cell.split("; ") if cell != NOTHING else []:
                kernel, _, result = part.rpartition(": ")
                note = re.fullmatch(r"\[(\d+)\]", result)
                for line in [kernel] if kernel else KERNELS:
                    cells[profile, job, line] = notes[note.group(1)] if note else result
    return cells


def render(cells: Cells, profiles: list[tuple[str, str]], jobs: list[str]) -> str:
    """The table for these profiles, with their names and meanings, and the notes below it."""
    notes: list[str] = []

    def short(words: str) -> str:
        if words == GREEN:
            return GREEN
        if words not in notes:
            notes.append(words)
        return f"[{notes.index(words) + 1}]"

    def cell(profile: str, job: str) -> str:
        found = {kernel: cells[profile, job, kernel] for kernel in KERNELS if (profile, job, kernel) in cells}
        if not found:
            return NOTHING
        if len(found) == len(KERNELS) and len(set(found.values())) == 1:
            return short(next(iter(found.values())))
        return "; ".join(f"{kernel}: {short(words)}" for kernel, words in found.items())

    lines = ["| | |" + "".join(f" {job} |" for job in jobs), "|---|---|" + "---|" * len(jobs)]
    for name, what in profiles:
        lines.append(f"| **{name}** | {what} |" + "".join(f" {cell(name, job)} |" for job in jobs))
    if notes:
        lines += ["", *(f"{number}. {words}" for number, words in enumerate(notes, 1))]
    return "\n".join(lines)


def replaced(text: str, table: str) -> str:
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def settle(folders: list[Path], is_accepted: bool) -> bool:
    """Prints the measured table over the committed one. False if they differ and that was not accepted."""
    from lab.jobs import JOBS
    from peers import zoo

    text = README.read_text()
    new = measured(folders)
    profiles = [(profile.name, profile.what) for profile in zoo.profiles()]
    known = {(profile, job) for profile, _ in profiles for job in JOBS}
    cells = {key: words for key, words in committed(text).items() if key[:2] in known} | new
    table = render(cells, profiles, list(JOBS))
    wanted = replaced(text, table)
    print(f"\n=== The zoo: {len(new)} cells measured\n{table}")
    if wanted == text:
        return True
    if is_accepted:
        README.write_text(wanted)
        print("\nThe table in Tests/KernelLab/README.md is what was measured now.")
        return True
    difference = difflib.unified_diff(text.splitlines(), wanted.splitlines(), "README.md", "measured", lineterm="", n=0)
    print("\nTROUBLE: the table in Tests/KernelLab/README.md is not what was measured; `run --zoo --accept` writes it\n")
    print("\n".join(difference))
    return False
