"""Two Bumble centrals at once against `ble serve`: the kernel is asked to go on advertising while one is connected."""

import pytest

from lab.peer import PATIENCE

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"
NAME = "2A00"
SHARE = 4096  # what of one central's writes may wait for the program
FLOOD = 5000


def test_two_centrals_at_once(bumble_centrals, ble):
    peer = bumble_centrals.peer
    with bumble_centrals.serving(ble, "--profile", "echo") as served:
        peer.command(f"connect 0 {bumble_centrals.address}")
        served.wait("connected")
        peer.command(f"connect 1 {bumble_centrals.address}")
        mark = peer.mark()
        for number in range(2):
            peer.command(f"subscribe {number} {ECHO}")
        peer.command(f"write 1 {ECHO} c0ffee")
        for number in range(2):
            peer.wait("notified", mark, central=str(number), hex="c0ffee")
        assert peer.command(f"read 0 {ECHO}") == "c0ffee"
        assert len([event for event in served.events if event["event"] == "connected"]) == 2


@pytest.mark.program
def test_a_flood_of_one_central_costs_it_its_own_writes_and_nobody_else(bumble_centrals, ble):
    peer = bumble_centrals.peer
    with bumble_centrals.serving(ble, "--profile", "echo") as served:
        for number in range(2):
            peer.command(f"connect {number} {bumble_centrals.address}")
        served.run.wait_lines(3)
        # Nobody reads what the command prints: it stops taking what centrals write.
        served.run.look_away()
        peer.command(f"flood 0 {ECHO} {FLOOD}", within=3 * PATIENCE)
        peer.command(f"command 1 {ECHO} 0b5e55ed")
        # The server answers this by itself, behind what came before.
        assert bytes.fromhex(peer.command(f"read 1 {NAME}")).decode() == "ble echo"
        served.run.look_again()
        served.run.wait_text("0b5e55ed", within=3 * PATIENCE)
        written = [event for event in served.events if event["event"] == "written"]
        flood = [event for event in written if event["value"] != "0b5e55ed"]
        assert SHARE <= len(flood) < FLOOD, len(flood)
        assert [int(event["value"], 16) for event in flood[:SHARE]] == list(range(SHARE))
        served.run.wait_text("writes faster than the program takes", "stderr")
        # Both are served as before.
        for number in range(2):
            peer.command(f"write {number} {ECHO} c0ffee0{number}")
            served.wait("written", value=f"c0ffee0{number}")
