"""The other side of the air: peripherals that run on Bumble, and a GATT application for bluetoothd."""
