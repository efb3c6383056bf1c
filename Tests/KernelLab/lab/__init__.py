"""The base of the scenarios: the kernel's management socket, the peers, the `ble` command, a thin ATT client."""
