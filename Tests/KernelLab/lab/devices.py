"""What a peer can have in the guest, by packets: an adapter for the kernel, an adapter of the kernel, a USB device."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from lab.mgmt import AF_BLUETOOTH, BTPROTO_HCI, bind

HCI_CHANNEL_USER = 1
VENDOR_PACKET = 0xFF
LONGEST = 4096
USB_HOST = Path("/sys/devices/platform/vhci_hcd.0")
FREE = "004"  # a port's state


class Device:
    """An open file: each read and each write is a packet."""

    def __init__(self, file: int):
        self.file = file

    def read(self) -> bytes:
        return os.read(self.file, LONGEST)

    def write(self, packet: bytes) -> None:
        try:
            os.write(self.file, packet)
        except OSError:  # an adapter that is off takes nothing
            pass

    def close(self) -> None:
        os.close(self.file)


def vhci(options: int) -> Device:
    """An adapter that the kernel has, as whose controller somebody acts; options: drivers/bluetooth/hci_vhci.c,
    __vhci_create_device. The kernel answers with the adapter's number."""
    file = os.open("/dev/vhci", os.O_RDWR | os.O_NONBLOCK)
    os.write(file, bytes([VENDOR_PACKET, options]))
    return Device(file)


def user_channel(adapter: int) -> Device:
    """An adapter of the kernel's, which is powered off, without the kernel (net/bluetooth/hci_sock.c)."""
    end = socket.socket(AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_NONBLOCK, BTPROTO_HCI)
    bind(end, struct.pack("<HHH", AF_BLUETOOTH, adapter, HCI_CHANNEL_USER))
    return Device(end.detach())


def usb(device: int, speed: int) -> Device:
    """A USB device of that speed, and number, at the first free port of the kernel's virtual host controller. What goes to
    and fro is a stream (kernel, Documentation/usb/usbip_protocol.rst)."""
    # The lines of the file have hub, port and state.
    lines = [line.split() for line in (USB_HOST / "status").read_text().splitlines()]
    port = next(int(port) for hub, port, state, *_ in lines if hub == "hs" and state == FREE)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with theirs:
        (USB_HOST / "attach").write_text(f"{port} {theirs.fileno()} {device} {speed}")
    return Device(ours.detach())


KINDS = {"vhci": vhci, "user-channel": user_channel, "usb": usb}


def opened(kind: str, *arguments: int) -> Device:
    return KINDS[kind](*arguments)
