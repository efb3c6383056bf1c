public import BLEProtocol
import BLERadio

extension AdapterChoice {
    /// Every adapter of this machine as one, see ``joined(_:)``; it uses those that are on and support Low Energy. An
    /// adapter plugged in later is added at the end.
    ///
    /// ```swift
    /// let central = try await Central.open(.all)
    /// ```
    public static let all = AdapterChoice(
        isOfThisMachine: true,
        awaitRadio: { try MachineRadio.all(mayBeMissing: true) },
        makeRadio: { try MachineRadio.all(mayBeMissing: false) }
    )

    /// The adapter with this address, under any name: a dongle that is plugged in again may get another name. The
    /// adapter may be absent at first. If its address is rewritten while it stays plugged in, it is used under the new
    /// address.
    public static func address(_ address: BluetoothAddress) -> AdapterChoice {
        AdapterChoice(isOfThisMachine: true) { try MachineRadio.open(address) }
    }

    /// Several adapters as one, for more links than one controller supports, or a larger area than one adapter covers.
    /// ```swift
    /// let central = try await Central.open(.joined([.adapter("hci0"), .adapter("hci1")]))
    /// ```
    ///
    /// Scans, sessions, fleets and all else work as with one adapter. These rules decide which adapter does what:
    ///
    /// - **A connection** is made through an adapter that is on. If the peripheral has a bond with any of them, only
    ///   adapters that hold its keys are candidates; if none of them is on, that is why there is no link, and whoever
    ///   waits for an adapter waits for one of them. The first candidate in the following order is used; each rule
    ///   breaks the ties of those before it:
    ///   1. Adapters with a free connection slot come before those without. Controllers don't report their number of
    ///      slots: when one refuses a connection (Connection Limit Exceeded, Limited Resources, Memory Capacity
    ///      Exceeded), its number of links at that moment is taken as its limit, for a minute.
    ///   2. Adapters that failed to connect to this peripheral within the last 30 s come last.
    ///   3. Adapters that have received it in the last 12 s, and since its last link was made, come first, by the
    ///      signal strength of the last advertisement. The adapter that had its last link keeps it unless another one
    ///      receives it better by 6 dB or more.
    ///   4. Of those that haven't received it, the adapter that had its last link comes first, and the one that most
    ///      recently waited for it in vain comes last.
    ///   5. Otherwise the order in which they were given decides.
    /// - If there are several candidates and none has received the peripheral recently, all of them listen for it
    ///   first: from the moment when all of them listen, for which it waits up to 5 s, until half a second after one
    ///   has received it, or for 2.5 s.
    /// - If an adapter refuses because its slots are taken, is switched off or unplugged, or can't connect to anybody
    ///   (it has the address of another one, for example), the attempt moves to the next one. Any other failure fails
    ///   the attempt; the next attempt begins elsewhere, by rule 2. An adapter that waits for the peripheral for 5 s,
    ///   later 12 s, without an answer passes its turn to the next one.
    /// - **A link** stays on its adapter. If the peripheral moves out of range, or the adapter is unplugged, the link
    ///   ends with the reason, and the next one, which a session makes automatically, is made by these rules.
    /// - **A scan** runs on all of them, and continues while it runs on at least one. Each adapter's reports have its
    ///   name in ``AdvertisingReport/adapter``: a scan with `duplicates: true` has an element from each adapter that
    ///   receives an advertisement, one for `.changes` has each content once, and one without has each peripheral once.
    ///   Reports dropped by any of them are counted.
    /// - **Pairing** uses the adapter that has the link; the bond belongs to it.
    /// - **The state** is that of one adapter, which is on while any of them is; its name consists of all their names,
    ///   `hci0+hci1`. ``Central/setPowered(_:)`` switches all that are present.
    /// - **Recovery** applies to each adapter separately, by the central's ``RecoveryPlan``; the links of the others
    ///   stay up. During a step that switches an adapter off, attempts to connect continue through another one; if
    ///   there is none, they wait for it, within their time limits.
    /// - **Handlers of events** that any of the choices has are told of all adapters: it is enough to add one to the
    ///   joined choice. An object that several choices have as handler is told once.
    /// - **Listening and advertising** use the first that is on; a peripheral advertises on the adapter on which it
    ///   listens.
    ///
    /// - Parameter choices: at least one. Don't list an adapter twice: its two uses would interfere with each other.
    public static func joined(_ choices: [AdapterChoice]) -> AdapterChoice {
        precondition(!choices.isEmpty, "at least one adapter is required")
        let joined = AdapterChoice(
            isOfThisMachine: choices.contains(where: \.isOfThisMachine),
            awaitRadio: { try join(choices.map { try $0.awaitRadio() }) },
            makeRadio: { try join(choices.map { try $0.makeRadio() }) }
        )
        return choices.flatMap(\.events).reduce(joined) { choice, handler in
            choice.reports(to: handler) ? choice : choice.reporting(to: handler)
        }
    }

    private static func join(_ radios: [any Radio]) -> any Radio {
        JoinedRadio(radios, timeline: radios.first?.timeline ?? RealTimeline())
    }
}
