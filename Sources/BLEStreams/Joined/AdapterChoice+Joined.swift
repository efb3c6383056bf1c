public import BLEProtocol
import BLERadio

extension AdapterChoice {
    /// Every adapter of this machine as one, see ``joined(_:)``; those that are on and capable of Low Energy are used. One
    /// that is plugged in later is added, behind the others.
    ///
    /// ```swift
    /// let central = try await Central.open(.all)
    /// ```
    public static let all = AdapterChoice(
        isOfThisMachine: true,
        awaitRadio: { try MachineRadio.all(mayBeMissing: true) },
        makeRadio: { try MachineRadio.all(mayBeMissing: false) }
    )

    /// The adapter with this address, whatever its name is at the moment: a dongle that is plugged in again may get another
    /// one. It need not be there yet. If the address is written anew while it stays plugged in, it is used under its new one.
    public static func address(_ address: BluetoothAddress) -> AdapterChoice {
        AdapterChoice(isOfThisMachine: true) { try MachineRadio.open(address) }
    }

    /// Several adapters as one, for more links than one controller manages, or more space than one hears.
    ///
    /// ```swift
    /// let central = try await Central.open(.joined([.adapter("hci0"), .adapter("hci1")]))
    /// ```
    ///
    /// Scans, sessions, fleets and all else work as with one adapter. Which of them does what is decided by these rules:
    ///
    /// - **A connection** is made through one of those that are on. If the peripheral has a bond with any of them, only those
    ///   that hold its keys come into question. Of these the first in the following order is taken; each rule decides where
    ///   those before it leave several:
    ///   1. Adapters with a free connection slot come before those without. No controller says how many it has: when it
    ///      refuses one more (Connection Limit Exceeded, Limited Resources, Memory Capacity Exceeded), the number of its links
    ///      at that moment is its limit, for a minute.
    ///   2. Those that failed to connect to this peripheral within the last 30 s come last.
    ///   3. Those that have heard it in the last 12 s, and since its last link was made, come first, by the signal strength of
    ///      the last advertisement. The one that had its last link keeps it unless another one hears it better by 6 dB or
    ///      more.
    ///   4. Of those that haven't heard it, the one that waited for it in vain most recently comes last; before the others
    ///      comes the one that had its last link.
    ///   5. Otherwise the order in which they were given decides.
    /// - Where several come into question and none has heard the peripheral lately, all of them listen for it first: from the
    ///   moment when all do, which is waited for for 5 s, until half a second after one has heard it, or for 2.5 s.
    /// - An adapter that refuses because its slots are taken, or that is switched off or pulled out, leaves the attempt to the
    ///   next one. Any other failure is that of the attempt; the next attempt begins elsewhere, by rule 2. One that waits for
    ///   the peripheral for 5 s, later 12 s, without an answer leaves its turn to the next one.
    /// - **A link** stays where it is. If the peripheral has moved, or the adapter is pulled out, its link ends with the reason,
    ///   and the next one, which a session makes by itself, is made by these rules.
    /// - **A scan** listens on all of them, and goes on while it does so on one. Each reports what it hears, with its name in
    ///   ``AdvertisingReport/adapter``: a scan with `duplicates` has an element from each that hears an advertisement, one
    ///   without has each peripheral once. What any of them drops is counted.
    /// - **Pairing** uses the adapter that has the link; the bond belongs to it.
    /// - **The state** is that of one adapter which is on while any of them is; its name is all their names, `hci0+hci1`.
    ///   ``Central/setPowered(_:)`` switches all that are there.
    /// - **Recovery**: each that is deaf or doesn't answer is cured by itself, by the central's ``RecoveryPlan``; the links of
    ///   the others stay up.
    /// - **Listening and advertising** use the first that is on.
    ///
    /// - Parameter choices: at least one. An adapter that is named twice is two that disturb each other.
    public static func joined(_ choices: [AdapterChoice]) -> AdapterChoice {
        precondition(!choices.isEmpty, "no adapter to join")
        return AdapterChoice(
            isOfThisMachine: choices.contains(where: \.isOfThisMachine),
            awaitRadio: { try join(choices.map { try $0.awaitRadio() }) },
            makeRadio: { try join(choices.map { try $0.makeRadio() }) }
        )
    }

    private static func join(_ radios: [any Radio]) -> any Radio {
        JoinedRadio(radios, timeline: radios.first?.timeline ?? RealTimeline())
    }
}
