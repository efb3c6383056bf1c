"""What a profile is: a kind of controller for the kernel, and what else a stage is set with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the scenarios need no Bumble to know what a profile is
    from peers import air


@dataclass
class Stage:
    """What a profile may act on: the air, the kernel's controller on it, and the peripheral NEAR."""

    link: air.Link
    central: air.CentralController
    near: Any  # peers.peripheral.Near
    control: Any  # peers.control.Control
    ailments: Any  # peers.ailments.Ailments


async def nothing(_stage: Stage) -> None:
    pass


@dataclass(frozen=True)
class Profile:
    name: str
    what: str  # as the table says it
    controller: type[air.CentralController] | None = None  # None: air.CentralController
    begin: Callable[[Stage], Awaitable[None]] = nothing  # once, when NEAR advertises
    before: Callable[[Stage], Awaitable[None]] = nothing  # at the command `stage`, that is before each job
    plugs: Callable[[air.Link], Any] | None = None  # further adapters of the kernel, plugged in after the controller
    is_late: bool = False  # is itself from the first time on that it is switched off and on
    is_peer: bool = False  # its peculiarity is the peer's: the controller is a plain one
    meets_identity: bool = False  # NEAR goes by its own address only to those who are paired with it
    options: tuple[str, ...] = ()  # what a user of such a controller gives to `ble`


PLAIN = Profile("plain", "a controller of Bluetooth 4.2; it honours the scanner's filter of duplicates")
