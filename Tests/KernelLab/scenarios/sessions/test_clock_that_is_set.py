"""The machine's clock is set, as by the first answer of a time server: what is measured and waited for doesn't notice."""

import subprocess
import time

import pytest

from lab import names

HOUR, YEAR = 3600, 365 * 86_400


@pytest.fixture
def shifted():
    """Sets the clock forward or back by some seconds; it is right again afterwards."""
    shifts = []

    def shift(seconds):
        shifts.append(seconds)
        subprocess.run(["date", "-s", f"@{time.time() + seconds:.6f}"], check=True, stdout=subprocess.DEVNULL)

    yield shift
    shift(-sum(shifts))


def test_gaps_limits_and_waits_are_as_long_as_ever(ble, bumble, shifted):
    run = ble.start("notify", names.NEAR, names.HEART_RATE_MEASUREMENT, "--reconnect", "--json")
    scan = ble.start("scan", "--duplicates", "--json")
    absent = ble.start("read", f"{names.ABSENT}/random", names.VALUE, "--timeout", "15")
    run.wait_lines(2)
    for number, seconds in enumerate((HOUR, -2 * HOUR, YEAR, -2 * YEAR), 1):
        mark, told, began = bumble.peer.mark(), len(run.stdout), time.monotonic()
        shifted(seconds)
        bumble.peer.command("drop", "0x08")
        bumble.peer.wait("cccd", mark, char="heart-rate", on=1)
        run.wait_text('"value"', after=run.stdout.find('"gap"', told))
        scan.wait_lines(scan.stdout.count("\n") + 3)
        gaps = [record["gap"]["duration"] for record in run.records if "gap" in record]
        assert len(gaps) == number and 0 < gaps[-1] < time.monotonic() - began, run
    absent.end()
    assert absent.status == 1 and 15 <= absent.seconds < 60, absent
    for each in (run, scan):
        each.interrupt()
        assert each.end().status == 130, each
    # Times are the machine's, as it was set when the value came.
    assert len({record["time"][:4] for record in run.records if "value" in record}) >= 3, run
