"""`ble serve` when its adapter is switched off, when it has a rival, and when it may open no more files."""

import os
import re
import resource
import time

from lab.ble import Ble
from lab.peer import PATIENCE

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"


def test_an_adapter_that_goes_off_and_on_ends_it_with_a_word(bumble_central, ble):
    management, index = bumble_central.management, bumble_central.index
    for is_connected in (False, True):
        served = bumble_central.start(ble)
        try:
            if is_connected:
                bumble_central.peer.command(f"connect 0 {bumble_central.address}")
                served.wait("connected")
            management.power(index, False)
            management.power(index, True)
            run = served.run.end()
        finally:
            served.run.kill()
        assert run.status == 1, run
        assert f"hci{index}" in run.stderr and "switched off" in run.stderr, run
    # The adapter is free for the next one, which is found.
    with bumble_central.serving(ble) as served:
        bumble_central.peer.command(f"connect 0 {bumble_central.address}")
        served.wait("connected")


def test_one_that_resumes_waits_for_its_adapter_and_goes_on(bumble_central, ble):
    management, index, peer = bumble_central.management, bumble_central.index, bumble_central.peer
    with bumble_central.serving(ble, "--profile", "echo", "--resume") as served:
        for round in range(1, 4):
            peer.command(f"connect 0 {bumble_central.address}")
            served.wait("connected")
            assert peer.command(f"read 0 {ECHO}") == b"hello".hex()
            mark = peer.mark()
            management.power(index, False)
            served.wait_count("interrupted", round)
            assert "switched off" in served.events[-1]["cause"], served.run
            assert "`ble adapter on`" in served.events[-1]["remedy"], served.run
            peer.wait("disconnected", mark)
            management.power(index, True)
            served.wait_count("serving", round + 1)
        # What is told first of the adapter's end is a matter of moments, but it is told in the command's words.
        assert "ble: serve" in served.run.stderr and "Central." not in served.run.stderr, served.run
        assert "blestreams:" not in served.run.stderr and "Central." not in served.run.stderr, served.run
        peer.command(f"connect 0 {bumble_central.address}")
        served.wait_count("connected", 4)
        peer.command("disconnect 0")
        served.wait_count("disconnected", 4)


def test_a_second_one_on_the_adapter_is_told(bumble_central, ble):
    with bumble_central.serving(ble):
        rival = Ble(f"hci{bumble_central.index}")
        rival.bad("serve", "--name", "rival", status=1, says=["already", "another adapter"])


def test_a_central_waits_while_no_file_can_be_opened(bumble_central, ble):
    peer = bumble_central.peer
    with bumble_central.serving(ble) as served:
        pid = served.run.process.pid
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        numbers = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        free = next(number for number in range(len(numbers) + 1) if number not in numbers)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, limits[1]))
        peer.command(f"open 0 {bumble_central.address}")
        deadline = time.monotonic() + PATIENCE
        while not re.search("Too many open files.*LimitNOFILE", served.run.stderr):
            assert time.monotonic() < deadline, served.run
            time.sleep(0.1)
        assert not [event for event in served.events if event["event"] == "connected"]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        served.wait("connected")
        # Goes round close-of-unused-link.
        peer.command("discover 0")
        peer.command("disconnect 0")
        served.wait("disconnected")
