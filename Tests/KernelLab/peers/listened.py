"""What the scans of the speed bench look for, beside all: three services that some advertise, and one that nobody has."""

SERVICES = [f"0000{short}-0000-1000-8000-00805f9b34fb" for short in ("180d", "180f", "181a", "1816")]
