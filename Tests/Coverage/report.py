"""Prints a table of the lines that tests reach, from lcov's format on the standard input."""

import os
import sys

# Per cent of a module's lines. BLELinux runs on a kernel in memory here; what needs the machine's is measured nowhere.
GOALS = {"BLEProtocol": 98, "BLEStreams": 97, "BLELinux": 85}
# Per cent of the lines of each file.
FLOORS = {"BLELinux": 70}


def read(lines, sources):
    """The hits of each line, by file; a line that is in several programs was reached if any of them has."""
    files, hits = {}, None
    for line in lines:
        kind, _, rest = line.rstrip("\n").partition(":")
        if kind == "SF":
            path = os.path.relpath(rest, sources)
            hits = None if path.startswith("..") else files.setdefault(path, {})
        elif kind == "DA" and hits is not None:
            number, count = (int(part) for part in rest.split(",")[:2])
            hits[number] = max(hits.get(number, 0), count)
    return files


def ranges(hits):
    """The lines that no test reaches, those next to each other as one."""
    found = []
    for number in sorted(number for number, count in hits.items() if count == 0):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in found)


def share(files):
    """Lines that were reached, lines in all, and per cent."""
    reached = sum(1 for hits in files for count in hits.values() if count)
    lines = sum(len(hits) for hits in files)
    return reached, lines, 100 * reached / lines if lines else 100.0


def main():
    files = read(sys.stdin, sys.argv[1])
    failed = False
    for module in sorted({path.split("/")[0] for path in files}):
        own = {path: hits for path, hits in files.items() if path.split("/")[0] == module}
        for path, hits in sorted(own.items()):
            reached, lines, percent = share([hits])
            low = percent < FLOORS.get(module, 0)
            failed = failed or low
            if reached < lines:
                print(f"{percent:6.1f} %  {reached:5} of {lines:5}  {path}{' ✗' * low}: {ranges(hits)}")
    print()
    for module in sorted({path.split("/")[0] for path in files}):
        reached, lines, percent = share([hits for path, hits in files.items() if path.split("/")[0] == module])
        goal = GOALS.get(module)
        missed = goal is not None and percent < goal
        failed = failed or missed
        said = "" if goal is None else f"  goal {goal} %" + (" ✗" if missed else "")
        print(f"{percent:6.2f} %  {reached:6} of {lines:6} lines  {module}{said}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
