"""`ble serve` with more to advertise than the 31 octets of Bluetooth 4."""

from lab.ble import Ble


def test_a_controller_of_bluetooth_5_takes_it_in_one_piece(extended, ble):
    name = "n" * 100
    mark = extended.peer.mark()
    with extended.serving(ble, "--name", name):
        event = extended.peer.wait("advertising", mark, legacy="0", connectable="1")
        assert name.encode().hex() in event.facts["hex"]
    mark = extended.peer.mark()
    with extended.serving(ble):
        extended.peer.wait("advertising", mark, legacy="1", connectable="1")


def test_a_controller_of_bluetooth_4_is_named_with_the_size(bumble_centrals, ble):
    rival = Ble(f"hci{bumble_centrals.index}")
    ble.runs = rival.runs
    rival.bad("serve", "--name", "n" * 40, status=1, says=["31 octets", "Bluetooth 5"])
