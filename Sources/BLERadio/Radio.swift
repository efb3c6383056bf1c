public import BLEProtocol

/// One Bluetooth adapter: the only seam between the library and whatever carries its PDUs.
///
/// The kernel and the simulator stand behind this protocol, so all code above it is the same in a test and in the
/// field. Every function returns at once; what happens later arrives through the closure. Closures are called on the
/// radio's own context, one at a time per activity, and must not block; after ``RadioActivity/cancel()`` has returned
/// on that same context no further call comes, from another thread one that is already under way may still finish.
public protocol Radio: Sendable {
    /// The time and the randomness by which everything on this radio happens.
    var timeline: any Timeline { get }

    /// The radio's context as a place for tasks; `nil` where it has none.
    var executor: (any TaskExecutor)? { get }

    /// The adapter as it is now.
    var adapterInfo: AdapterInfo { get }

    /// Watches the adapter: its state now, at once, and then each change, until the activity is cancelled.
    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity

    /// Tells what the radio itself sees go wrong with an adapter that is on, until the activity is cancelled. That nothing
    /// is heard is seen above.
    func observeSymptoms(_ events: @escaping @Sendable (AdapterSymptom) -> Void) -> RadioActivity

    /// Switches the adapter on, ready for Low Energy, or off; for all programs of the machine.
    ///
    /// - Parameter result: is called once, unless the activity is cancelled before.
    func setPowered(_ isOn: Bool, result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity

    /// Switches the adapter off and on, for all programs of the machine; goes on to its end, whoever waits for it: nobody is
    /// left with an adapter that is off.
    ///
    /// - Parameter result: is called once, perhaps before this returns.
    func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void)

    /// Resets the adapter's controller, as if it was pulled out and plugged in, for all programs of the machine; on its way the
    /// adapter is ``AdapterState/absent``, and comes back as what it was, on or off. Goes on to its end, whoever waits.
    ///
    /// - Parameter result: is called once, when it is back, unless the activity is cancelled before.
    func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity

    /// Tells which modulations the adapter's controller can do, and which it uses for links.
    ///
    /// - Parameter result: is called once, unless the activity is cancelled before.
    func readPHYs(result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void) -> RadioActivity

    /// Has the adapter use these modulations for its links, and with them what can't be left out; for all programs of the
    /// machine.
    ///
    /// - Parameter result: is called once, unless the activity is cancelled before.
    func selectPHYs(
        _ selection: PHYSelection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity

    /// Tells whether the adapter hides behind addresses that change.
    ///
    /// - Parameter result: is called once, unless the activity is cancelled before.
    func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity

    /// Has the adapter hide behind addresses that change, in both roles, or no longer; for all programs of the machine. Goes
    /// on to its end, whoever waits.
    ///
    /// - Parameter result: is called once, unless the activity is cancelled before. Where somebody uses the adapter, and may
    ///   not be interrupted, it is ``BLEError/Code/busy``.
    func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity

    /// Scans until the activity is cancelled. One scan at a time: a second one fails with ``BLEError/Code/busy``.
    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity

    /// Connects to a peer. Exactly one result comes, unless the activity is cancelled first, which ends the attempt.
    ///
    /// There is no time limit here: who wants one cancels. A failed attempt is a ``BLEError`` with the cause.
    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity

    /// Connects as ``connect(to:result:)`` does, and asks for connection parameters.
    ///
    /// - Parameter parameters: what the link is to be like; `nil`: what the radio thinks best. That the radio can't ask for
    ///   them is no reason not to connect: ``ATTLink/readConditions(_:)`` tells what the link is like.
    func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity

    /// Whether this machine has a link to a device already, whoever made it: such a device may not advertise.
    ///
    /// - Parameter peer: its address; a radio may compare the octets alone, without the kind.
    func hasLink(to peer: BluetoothAddress) -> Bool

    /// What keeps the adapter from connecting to anybody at this moment, as far as the radio knows; `nil` where nothing does.
    ///
    /// Attempts wait for as long as it lasts, and go on by themselves. One that is given up meanwhile has its cause here.
    var connectObstacle: BLEError? { get }

    /// Accepts links that other devices make to this adapter, until the activity is cancelled. One listener at a time: a
    /// second one fails with ``BLEError/Code/busy``.
    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity

    /// Advertises until the activity is cancelled. What has no room fails with ``BLEError/Code/overflow``.
    ///
    /// - Returns: the activity, with ``RadioActivity/change(to:result:)`` where the radio can change what is on air.
    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity

    /// Pairs with a peer that is connected.
    ///
    /// - Parameters:
    ///   - interview: who answers what the pairing asks; ``PairingInterview/justWorks`` asks nobody. It is let go of with the
    ///     activity, and asked nothing after the result.
    ///   - result: Is called once, unless the activity is cancelled before, with the keys that are worth
    ///     keeping; `nil` where the peer does not bond, or the adapter has the keys already. An answer that refuses is an
    ///     error with its ``BLEError/pairingFailure``.
    func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity

    /// Says what the program can do for the person who pairs, before a link is made to a peer with whom there are keys that it
    /// may want to replace by better ones: ``ATTLink/raise(to:asking:result:)``. Holds for the next link to it.
    func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability)

    /// Makes what this device can tell another one by other means than Bluetooth, for their next pairing; what was made before
    /// doesn't hold any more.
    ///
    /// - Parameter result: is called once, unless the activity is cancelled before.
    func makeOutOfBandData(result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void) -> RadioActivity

    /// Answers the pairings that centrals begin, until the activity is cancelled. One at a time: a second one fails with
    /// ``BLEError/Code/busy``.
    ///
    /// Begin it before centrals can connect: what the device can do holds for links that are made afterwards.
    ///
    /// - Parameters:
    ///   - reception: what the device can do, and who answers.
    ///   - events: hears that it has begun, or that it can't; then of each pairing that has ended.
    func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity

    /// Gives the adapter the keys of bonds that an earlier run of the program has made.
    ///
    /// - Parameters:
    ///   - bonds: All bonds of this adapter: an adapter may know only the last list that it was given.
    ///   - result: Is called once, unless the activity is cancelled before. That the adapter can't be given keys is no
    ///     reason not to connect: it may have them from elsewhere.
    func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity

    /// Has the adapter forget the keys of a peer, and drops a link to it.
    ///
    /// - Parameter result: Is called once, unless the activity is cancelled before, with whether it had any.
    func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity

    /// Tells when the adapter has carried out what this program has asked it for, and taken back, so far. What was taken back
    /// before the adapter had it is still to be undone by then: a program that ends earlier would leave it behind.
    ///
    /// - Parameter done: is called once, unless the activity is cancelled before.
    func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity
}

extension Radio {
    /// None.
    public var executor: (any TaskExecutor)? { nil }

    /// Nothing is ever left to be done.
    public func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
        timeline.schedule(after: .zero, done)
    }

    /// Sees nothing.
    public func observeSymptoms(_ events: @escaping @Sendable (AdapterSymptom) -> Void) -> RadioActivity {
        RadioActivity {}
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let error = BLEError(
            .notSupported,
            operation: isOn ? "switch on" : "switch off",
            object: adapterInfo.name,
            cause: "this radio can't be switched by a program"
        )
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        let error = BLEError(
            .notSupported,
            operation: "reset",
            object: adapterInfo.name,
            cause: "this radio can't be reset by a program"
        )
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func readPHYs(
        result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void
    ) -> RadioActivity {
        let error = BLEError.knowsNoPHYs(adapterInfo.name, operation: "read PHYs")
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func selectPHYs(
        _ selection: PHYSelection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let error = BLEError.knowsNoPHYs(adapterInfo.name, operation: "select PHYs")
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Knows of none.
    public func hasLink(to peer: BluetoothAddress) -> Bool { false }

    /// Nothing.
    public var connectObstacle: BLEError? { nil }

    /// Connects without asking for parameters: what a radio does that knows none.
    public func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, result: result)
    }
}

/// What a scan asks of the radio. Filtering beyond this is done above.
public struct ScanRequest: Hashable, Sendable {
    /// Services that an advertisement must list, any of them; empty: all advertisements. A radio may ignore it.
    public var services: [BluetoothUUID]

    /// Whether scan responses are asked for.
    public var isActive: Bool

    /// Whether every advertisement is wanted, or each device once in a while is enough.
    public var reportsDuplicates: Bool

    /// Makes a request; without arguments an active scan for everything.
    public init(services: [BluetoothUUID] = [], isActive: Bool = true, reportsDuplicates: Bool = true) {
        self.services = services
        self.isActive = isActive
        self.reportsDuplicates = reportsDuplicates
    }
}

/// What happens in a scan.
public enum ScanEvent: Sendable {
    /// The radio listens.
    case started
    /// Advertisements were received, in order; all that one wake-up brought.
    case reports([AdvertisingReport])
    /// The kernel dropped so many of the packets that tell of advertisements, for want of room; they can't be had again.
    case dropped(Int)
    /// The scan is over; no further event comes.
    case failed(BLEError)
}

/// What happens to a listener.
public enum ListenEvent: Sendable {
    /// Links are accepted from now on.
    case started
    /// A central has connected; nothing is read from the link before ``ATTLink/start(_:)``.
    case accepted(any ATTLink)
    /// A central was not let in: those that connect now have to wait, since the system lets this program open nothing more,
    /// or another program has taken one. It is tried again by itself.
    case interrupted(BLEError)
    /// Listening is over; no further event comes.
    case failed(BLEError)
}

/// What happens to an advertisement.
public enum AdvertiseEvent: Sendable {
    /// It is on air.
    case started
    /// It is over; no further event comes.
    case failed(BLEError)
}
