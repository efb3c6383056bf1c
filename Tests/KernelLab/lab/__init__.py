"""What the scenarios stand on: the kernel's management socket, the peers, the `ble` command, a thin ATT client."""
