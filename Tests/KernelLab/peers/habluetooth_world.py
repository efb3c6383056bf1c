"""What habluetooth's own stack needs around it: its manager, for one adapter, and its scanner on the management socket.

Nothing here talks to D-Bus: the manager would ask it for the adapters.
"""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.environ["LAB_CACHE"] + "/habluetooth")

from bluetooth_adapters import BluetoothAdapters  # noqa: E402
from habluetooth import BluetoothManager, BluetoothScanningMode  # noqa: E402
from habluetooth.scanner_mgmt import HaScannerMgmt  # noqa: E402


class OneAdapter(BluetoothAdapters):
    def __init__(self, name: str, address: str):
        details = {
            "address": address, "sw_version": "", "hw_version": None, "passive_scan": True, "manufacturer": None,
            "product": None, "product_id": None, "vendor_id": None, "adapter_type": None,
        }
        self.found = {name: details}

    @property
    def adapters(self):
        return self.found

    @property
    def default_adapter(self) -> str:
        return next(iter(self.found))


class Manager(BluetoothManager):
    """Its users override this to hear of what is new, or has changed."""

    def _discover_service_info(self, service_info) -> None:
        pass


async def start_scanner(adapter: str, address: str) -> tuple[Manager, HaScannerMgmt]:
    """An active scan: the monitor of the passive one has no pattern, and the kernel refuses it."""
    manager = Manager(OneAdapter(adapter, address))
    await manager.async_setup()
    scanner = HaScannerMgmt(BluetoothScanningMode.ACTIVE, adapter, address)
    scanner.async_setup()
    manager.async_register_scanner(scanner)
    await scanner.async_start()
    return manager, scanner
