"""What controllers get after hours: deaf, or hung. Both are well again after a reset, with which a kernel switches them on."""

from __future__ import annotations

from bumble import hci

RESET = hci.HCI_RESET_COMMAND.to_bytes(2, "little")


class Ailments:
    """Makes a kernel's controller ill, and hears when it is cured."""

    def __init__(self, controller, say):
        self.controller = controller
        self.say = say
        self.kind = "well"
        self.hear, controller.on_advertisement = controller.on_advertisement, self.on_advertisement
        kernel = controller.kernel
        self.sink = kernel.sink
        kernel.sink = self

    async def ail(self, kind: str) -> None:
        """deaf: acknowledges scans and hears nothing; hung: answers nothing; well."""
        if kind not in ("deaf", "hung", "well"):
            raise ValueError(kind)
        self.kind = kind

    def on_advertisement(self, packet, sender) -> None:
        if self.kind == "well":
            self.hear(packet, sender)

    def on_packet(self, packet: bytes) -> None:
        if packet[0] == hci.HCI_COMMAND_PACKET and packet[1:3] == RESET and self.kind != "well":
            self.say("cured", of=self.kind)
            self.kind = "well"
        if self.kind != "hung":
            self.sink.on_packet(packet)
