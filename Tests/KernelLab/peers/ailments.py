"""What controllers get after hours: deaf, or hung. Both are well again after a reset, with which a kernel switches them on.

And what becomes of an attempt that is cancelled just when it succeeds: one event and one command cross.
"""

from __future__ import annotations

from bumble import hci

RESET = hci.HCI_RESET_COMMAND.to_bytes(2, "little")
CANCEL = hci.HCI_LE_CREATE_CONNECTION_CANCEL_COMMAND.to_bytes(2, "little")
CONNECTED = bytes([hci.HCI_EVENT_PACKET, hci.HCI_LE_META_EVENT])
COMPLETE = bytes([hci.HCI_LE_CONNECTION_COMPLETE_EVENT, hci.HCI_SUCCESS])


class Ailments:
    """Makes a kernel's controller ill, and hears when it is cured."""

    def __init__(self, controller, say):
        self.controller = controller
        self.say = say
        self.kind = "well"
        self.held: bytes | None = None  # the event of a connection, until the kernel gives the attempt up
        self.hear, controller.on_advertisement = controller.on_advertisement, self.on_advertisement
        kernel = controller.kernel
        self.sink = kernel.sink
        kernel.sink = self
        self.tell, kernel.on_packet = kernel.on_packet, self.told

    async def ail(self, kind: str) -> None:
        """deaf: acknowledges scans and hears nothing; hung: answers nothing; crossing: the next connection is told when the
        kernel has just cancelled it; well."""
        if kind not in ("deaf", "hung", "crossing", "well"):
            raise ValueError(kind)
        self.kind = kind

    def on_advertisement(self, packet, sender) -> None:
        if self.kind not in ("deaf", "hung"):
            self.hear(packet, sender)

    def on_packet(self, packet: bytes) -> None:
        if packet[0] == hci.HCI_COMMAND_PACKET and packet[1:3] == RESET and self.kind != "well":
            self.say("cured", of=self.kind)
            self.kind, self.held = "well", None
        if packet[0] == hci.HCI_COMMAND_PACKET and packet[1:3] == CANCEL and self.held:
            self.tell(self.held)
            self.kind, self.held = "well", None
        if self.kind != "hung":
            self.sink.on_packet(packet)

    def told(self, packet: bytes) -> None:
        if self.kind == "crossing" and packet[:2] == CONNECTED and packet[3:5] == COMPLETE:
            self.held = packet
        else:
            self.tell(packet)
