"""`ble update`: firmware for a peripheral whose MCUmgr messages are those of the `smp` package, and whose link is Bumble's."""

import hashlib

import pytest

from lab import mcuboot, names

pytestmark = pytest.mark.program

SIZE = 256_000
# An emulated machine takes a minute or so.
LONG = 400


def image(size=SIZE, seed=1):
    return mcuboot.image(size, seed)


def firmware(bumble, kind):
    return bumble.peer.wait("firmware", bumble.mark, kind=kind).facts


def links(bumble):
    return len(bumble.peer.since(bumble.mark, "connected"))


def percents(run):
    return [record["percent"] for record in run.records if record.get("phase") == "upload"]


def test_mcumgr_goes_on_after_two_lost_links(ble, bumble, tmp_path):
    file = tmp_path / "image.bin"
    file.write_bytes(image())
    bumble.peer.command("losing", "80000", "160000")
    run = ble.good("update", names.NEAR, file, within=LONG)
    arrived = firmware(bumble, "mcumgr")
    assert arrived["sha256"] == hashlib.sha256(image()).hexdigest(), run
    # Two losses and a reset; it was tried, and confirmed once it ran.
    assert links(bumble) == 4, run
    bumble.peer.wait("confirmed-image", bumble.mark)
    # What the device had was not sent again: each request carries more than 400 octets.
    assert int(arrived["requests"]) < SIZE / 400 + 50, arrived
    assert percents(run)[-1] == 100 and len(set(percents(run))) >= 90, run


def test_the_plain_protocol_goes_on_after_two_lost_links(ble, bumble, tmp_path):
    file = tmp_path / "image.bin"
    file.write_bytes(image(seed=2))
    bumble.peer.command("losing", "80000", "160000")
    run = ble.good("update", names.NEAR, file, "--plain", "--model", "7", within=LONG)
    assert firmware(bumble, "plain")["sha256"] == hashlib.sha256(image(seed=2)).hexdigest(), run
    assert links(bumble) == 3, run
    assert percents(run)[-1] == 100, run


def test_the_wrong_image_is_refused_and_the_device_stays_as_it_was(ble, bumble, tmp_path):
    file = tmp_path / "image.bin"
    file.write_bytes(b"\x7fELF" + bytes(1000))
    ble.bad("update", names.NEAR, file, status=1, says=["mcuboot"])
    file.write_bytes(image(2 << 20))
    ble.bad("update", names.NEAR, file, "--plain", status=1, says=["at most"])
    ble.bad("update", names.NEAR, file, "--model", "8", status=1, says=["at most"])
    ble.bad("update", names.NEAR, tmp_path / "missing", status=1, says=["no such file"])
    assert bumble.peer.since(bumble.mark, "firmware") == []


def test_an_interrupted_update_leaves_nothing_switched_on(ble, bumble, tmp_path):
    file = tmp_path / "image.bin"
    file.write_bytes(image())
    run = ble.start("update", names.NEAR, file, "--mode", "upload")
    run.wait_lines(20)
    run.interrupt()
    assert run.end().status == 130, run
    bumble.peer.wait("disconnected", bumble.mark)
    # The rest comes with the next call.
    ble.good("update", names.NEAR, file, "--mode", "upload", within=LONG)
    arrived = firmware(bumble, "mcumgr")
    assert arrived["sha256"] == hashlib.sha256(image()).hexdigest()
    assert int(arrived["requests"]) < SIZE / 400 + 50, arrived


def wait_percent(run, least):
    """Until so much of the image has arrived."""
    while not any(percent >= least for percent in percents(run)):
        run.wait_lines(run.stdout.count("\n") + 1)


@pytest.mark.parametrize("options", [(), ("--plain", "--model", "7")], ids=["mcumgr", "plain"])
def test_one_that_is_killed_goes_on_where_it_was(ble, bumble, tmp_path, options):
    """At once, on the link that the kernel still has, whose MTU nobody knows any more; and later, on another link."""
    file = tmp_path / "image.bin"
    file.write_bytes(image(seed=6))
    for share in (10, 50, 90):
        mark = bumble.peer.mark()
        run = ble.start("update", names.NEAR, file, "--json", *options)
        wait_percent(run, share)
        run.kill()
        if share == 50:
            bumble.peer.wait("disconnected", mark)
    run = ble.good("update", names.NEAR, file, "--json", *options, within=LONG)
    arrived = firmware(bumble, "plain" if options else "mcumgr")
    assert arrived["sha256"] == hashlib.sha256(image(seed=6)).hexdigest(), run
    # What the device had was not sent again: each request carries more than 400 octets.
    assert percents(run)[0] >= 85 if options else int(arrived["requests"]) < SIZE / 400 + 100, run
    assert percents(run)[-1] == 100, run


def test_a_trial_is_ended(ble, bumble, tmp_path):
    """What runs on trial is left behind, and what was confirmed stays, which is said."""
    kept, trial = tmp_path / "kept.bin", tmp_path / "trial.bin"
    kept.write_bytes(image(8_000, seed=3))
    trial.write_bytes(image(8_000, seed=4))
    ble.good("update", names.NEAR, kept, within=LONG)
    ble.good("update", names.NEAR, trial, "--mode", "test", within=LONG)
    mark = bumble.peer.mark()
    run = ble.good("update", names.NEAR, trial, "--revert", within=LONG)
    assert "does not run the image" in run.stderr and run.records[-1]["phase"] == "done", run
    bumble.peer.wait("restarted", mark, confirmed=1)
    mark = bumble.peer.mark()
    ble.bad("update", names.NEAR, kept, "--revert", status=1, says=["is confirmed"], within=LONG)
    assert bumble.peer.since(mark, "restarted") == []
