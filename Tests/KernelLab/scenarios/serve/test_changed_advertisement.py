"""What is advertised follows a file, and whoever listens hears it: while a central is connected, whose link stays, and behind
an adapter that was off meanwhile."""

ECHO = "7A1C0021-5F2B-4C8E-9D3A-6B70E14F2C55"


def told(celsius: float) -> str:
    """The service data: BTHome's UUID and version, the object 0x02, and hundredths of a degree."""
    return "d2fc4002" + round(celsius * 100).to_bytes(2, "little", signed=True).hex()


def test_a_file_is_followed_on_air_beside_a_link(bumble_centrals, ble, tmp_path):
    peer, address = bumble_centrals.peer, bumble_centrals.address
    file = tmp_path / "temperature"
    file.write_text("21.5\n")
    with bumble_centrals.serving(ble, "--profile", "echo", "--bthome", f"temperature=@{file}") as served:
        start = peer.mark()
        peer.command("listen 1")
        peer.wait("heard", start, central="1", address=address, data=told(21.5))
        peer.command(f"connect 0 {address}")
        peer.command(f"subscribe 0 {ECHO}")
        for celsius in (22.25, -3, 21.5):
            mark = peer.mark()
            file.write_text(f"{celsius}")
            peer.wait("heard", mark, central="1", address=address, data=told(celsius))
            peer.command(f"write 0 {ECHO} c0ffee")
            peer.wait("notified", mark, central="0", hex="c0ffee")
        peer.command("hush 1")
        values = [event["beacons"]["bthome"][0]["value"] for event in served.events if event["event"] == "advertising"]
        assert values == [22.25, -3, 21.5]
        assert not peer.since(start, "disconnected")
        peer.command("leave 0")


def test_what_changed_meanwhile_is_on_air_when_the_adapter_is_back(bumble_centrals, ble, tmp_path):
    peer, place = bumble_centrals.peer, bumble_centrals
    file = tmp_path / "temperature"
    file.write_text("21.5")
    with place.serving(ble, "--resume", "--bthome", f"temperature=@{file}") as served:
        mark = peer.mark()
        peer.command("listen 1")
        peer.wait("heard", mark, central="1", address=place.address, data=told(21.5))
        place.management.power(place.index, False)
        served.wait("interrupted")
        file.write_text("4")
        place.management.power(place.index, True)
        served.wait_count("serving", 2)
        peer.wait("heard", mark, central="1", address=place.address, data=told(4))
        peer.command("hush 1")
