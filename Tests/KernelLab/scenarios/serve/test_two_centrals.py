"""Two Bumble centrals at once against `ble serve`: the kernel is asked to go on advertising while one is connected."""

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"


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
