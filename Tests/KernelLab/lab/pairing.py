"""The pairing method by the specification, and the resulting cells of the matrix."""

from __future__ import annotations

from dataclasses import dataclass

# A device's abilities, in the order of the specification's table: display, display and yes or no, keyboard, nothing,
# all.
CAPABILITIES = ("display", "yes-no", "keyboard", "none", "all")
SECURITIES = ("secure", "legacy")
ROLES = ("central", "peripheral")
# The neighbour: none, bluetoothd without an agent, bluetoothd with an agent that would refuse.
ALONE = "alone"
NEIGHBOURS = (ALONE, "bluetoothd", "bluetoothd with an agent")

JUST_WORKS = "just works"
INITIATOR_ENTERS = "initiator enters"
RESPONDER_ENTERS = "responder enters"
BOTH_ENTER = "both enter"
COMPARISON = "comparison"
METHODS = (JUST_WORKS, INITIATOR_ENTERS, RESPONDER_ENTERS, BOTH_ENTER, COMPARISON)
J, I, R, B, C = METHODS

# Core Specification, Vol 3, Part H, 2.3.5.1, table 2.8: a row for each responder, a column for each initiator. In a
# pair of methods, the first is for legacy pairing.
TABLE_2_8 = {
    "display": (J, J, I, J, I),
    "yes-no": (J, (J, C), I, J, (I, C)),
    "keyboard": (R, R, B, J, R),
    "none": (J, J, J, J, J),
    "all": (R, (R, C), I, J, (R, C)),
}

ACCEPTED = "accepted"
# A central requires protection that Just Works can't provide.
DEMANDED = "protection demanded"
# In an order in which the next one works too: the bond comes last.
OUTCOMES = (
    "wrong",
    "refused here",
    "refused there",
    "cancelled",
    "link dropped",
    "unanswered here",
    "unanswered there",
    DEMANDED,
    ACCEPTED,
)
# Waiting for an answer that doesn't come takes half a minute.
SLOW = {"unanswered here", "unanswered there"}


def method(initiator: str, responder: str, security: str) -> str:
    found = TABLE_2_8[responder][CAPABILITIES.index(initiator)]
    return found if isinstance(found, str) else found[security == "secure"]


@dataclass(frozen=True)
class Cell:
    """One pairing of `ble` with a person at a Bumble device."""

    role: str  # of `ble`
    here: str  # its abilities
    there: str  # and the other device's
    security: str
    outcome: str = ACCEPTED
    beside: str = ALONE

    @property
    def method(self) -> str:
        pair = (self.here, self.there) if self.role == "central" else (self.there, self.here)
        return method(*pair, self.security)

    @property
    def asks_here(self) -> str | None:
        """The question of `ble` to its person: `enter`, `show` or `compare`."""
        return asked(self.method, self.role == "central")

    @property
    def asks_there(self) -> str | None:
        return asked(self.method, self.role != "central")

    @property
    def name(self) -> str:
        return "-".join((self.here, self.there, self.security, self.outcome)).replace(" ", "_")

    @property
    def exists(self) -> bool:
        """Whether the outcome is possible: the person who causes it is asked."""
        if self.outcome == "wrong":
            return "enter" in (self.asks_here, self.asks_there)
        if self.outcome in ("refused here", "unanswered here"):
            return self.asks_here in ("enter", "compare")
        if self.outcome in ("refused there", "unanswered there"):
            return self.asks_there in ("enter", "compare") or self.can_dally
        if self.outcome == DEMANDED:
            return self.is_unprotectable
        return self.outcome == ACCEPTED or self.method != JUST_WORKS or self.can_dally

    @property
    def enters_first(self) -> bool:
        """Whether the other device asks for a legacy passkey only after the initiator's was entered."""
        return self.method == BOTH_ENTER and self.security == "legacy" and self.role == "central"

    @property
    def is_unprotectable(self) -> bool:
        """Whether `ble` is the peripheral, and both devices can show or enter a number, but no method uses it."""
        return self.role == "peripheral" and self.method == JUST_WORKS and "none" not in (self.here, self.there)

    @property
    def can_dally(self) -> bool:
        """Whether Bumble asks its delegate in Just Works: always as a responder, with Secure Connections as an
        initiator."""
        return self.method == JUST_WORKS and (self.role == "central" or self.security == "secure")


def asked(method: str, is_initiator: bool) -> str | None:
    if method == COMPARISON:
        return "compare"
    if method == BOTH_ENTER:
        return "enter"
    if method == JUST_WORKS:
        return None
    return "enter" if (method == INITIATOR_ENTERS) == is_initiator else "show"


def expected(cell: Cell) -> str:
    """The outcome: the bond that is kept, or the command's reason for the failure."""
    there = "Peripheral" if cell.role == "central" else "Central"
    match cell.outcome:
        case "accepted":
            return "bond" if cell.method == JUST_WORKS else "bond, authenticated"
        case "wrong":
            return "wrongPasskey"
        case "refused here":
            return "refused"
        case "unanswered here":
            return "unanswered"
        case "cancelled":
            return "ended"
        case "unanswered there":
            return "timedOut"
        case "link dropped":
            return "disconnected" if cell.role == "central" else "refusedByCentral"
    # Linux doesn't report the other device's reason: a side that shows or has entered a passkey learns that it did not
    # match.
    has_said = cell.asks_here == "show" or (cell.asks_here == "enter" and cell.enters_first)
    return "wrongPasskey" if has_said else f"refusedBy{there}"


def cells(role: str, beside: str = ALONE) -> list[Cell]:
    """Every possible pairing of `ble` in a role; beside a neighbour, each pair of devices and outcome only once."""
    every = (
        Cell(role, here, there, security, outcome, beside)
        for here in CAPABILITIES
        for there in CAPABILITIES
        for security in SECURITIES
        for outcome in OUTCOMES
    )
    # One timeout for each method is enough.
    seen: set[tuple[str, str, str]] = set()
    found = []
    for cell in every:
        key = (cell.method, cell.security, cell.outcome)
        is_once = cell.outcome in SLOW or (beside != ALONE and cell.outcome != ACCEPTED)
        if cell.exists and not (is_once and key in seen) and not (beside != ALONE and cell.outcome in SLOW):
            seen.add(key)
            found.append(cell)
    return found
