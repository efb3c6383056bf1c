"""Faults of Debian's kernels that were found while the lab was built, by name.

A scenario that would meet one on its kernel works around it, or is skipped with the fault's name and reason; a kernel
log that shows one is reported under its name. None of them is a fault of the package.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    name: str
    lines: tuple[str, ...]  # the kernel lines that have it
    what: str
    pattern: str  # the words in the kernel's log


FAULTS = [
    # Measured on 6.1.192: 100 %, at the first such close. A socket that has had as much as its MTU response is safe,
    # so is closing before the link or the attempt ends, and so was 6.1.176. Nothing a program does about the order
    # of receive, shutdown and close helps, nor does waiting.
    Fault(
        "close-of-unused-link",
        ("6.1",),
        "closing an ATT socket that has received nothing, after the peer has dropped its link, the adapter was switched"
        " off or the kernel has given up connecting, corrupts a list (hci_chan_del under l2cap_sock_release)",
        r"(list_del corruption|general protection fault|unable to handle page fault)(?s:.*)hci_chan_del",
    ),
    Fault(
        "keys-dropped-during-pairing",
        ("6.1",),
        "loading an empty list of long-term keys while a pairing is unfinished corrupts a list (smp_chan_destroy)",
        r"(list_del corruption|BUG)(?s:.*)smp_chan_destroy",
    ),
]

# What no kernel may log during a run. Stalls and lockups are not included: their alarms are off in the guest.
TROUBLE = re.compile(
    r"Oops|BUG:|kernel BUG at|general protection|list_(?:add|del) corruption|WARNING: CPU|refcount_t:|blocked for more"
    r"|Kernel panic|Unable to handle|use-after-free|slab-out-of-bounds"
)


def present(name: str) -> Fault | None:
    """The fault with that name, if the kernel running here has it."""
    fault = next(fault for fault in FAULTS if fault.name == name)
    return fault if os.environ["LAB_KERNEL"] in fault.lines else None


def named(log: str, line: str) -> list[Fault]:
    """The faults of this kernel line that the log shows."""
    return [fault for fault in FAULTS if line in fault.lines and re.search(fault.pattern, log)]
