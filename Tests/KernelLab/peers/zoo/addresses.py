"""Controllers whose address isn't what it should be: two with the same one, and one that is given its own late."""

from __future__ import annotations

from bumble import hci

from lab import names
from peers import air
from peers.zoo.profile import Profile

FALSE_ADDRESS = hci.Address("AA:AA:AA:AA:AA:AA", hci.Address.PUBLIC_DEVICE_ADDRESS)


class Rewritten(air.CentralController):
    """Has a maker's placeholder while it is registered, and its own address from the first switching on: that of a
    controller that is given it by its driver, or by a program at boot."""

    resets = 0

    def on_hci_reset_command(self, command):
        self.resets += 1
        return super().on_hci_reset_command(command)

    def on_hci_read_bd_addr_command(self, command):
        answer = super().on_hci_read_bd_addr_command(command)
        if self.resets < 2:
            answer.bd_addr = FALSE_ADDRESS
        return answer


def twin(_link: air.Link) -> air.CentralController:
    """A clone of the same address, plugged in after it, on an air where nobody is: the kernel prefers the newer."""
    return air.kernel_adapter(air.Link(), names.CENTRAL, lambda on, active: None, lambda peer: None)


PROFILES = [
    Profile("two alike", "two controllers with one address; the job is given the first, and the second hears nobody", plugs=twin),
    Profile("rewritten", "has another address until it is switched on for the first time", Rewritten, is_late=True),
]
