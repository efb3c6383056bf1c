public import BLEProtocol

/// One Bluetooth adapter: the only seam between the library and whatever carries its PDUs.
///
/// The kernel and the simulator implement this protocol, so all code above it is the same in a test and in the field.
/// Every function returns immediately; later events arrive through the closure. Closures are called on the radio's own
/// context, one at a time per activity, and must not block. After ``RadioActivity/cancel()`` has returned on that
/// context, no further call comes; when it is called from another thread, a call already under way may still finish.
public protocol Radio: Sendable {
    /// The source of time and randomness for everything on this radio.
    var timeline: any Timeline { get }

    /// An executor that runs tasks on the radio's context; `nil` if it has none.
    var executor: (any TaskExecutor)? { get }

    /// The adapter as it is now.
    var adapterInfo: AdapterInfo { get }

    /// Reports the adapter as it is now, and then each change, until the activity is cancelled.
    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity

    /// Reports faults that the radio itself detects while the adapter is on, until the activity is cancelled. A silent
    /// adapter is detected by the layer above.
    func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity

    /// Switches the adapter on, ready for Low Energy, or off; for all programs of the machine.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first.
    func setPowered(_ isOn: Bool, result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity

    /// Switches the adapter off and on, for all programs of the machine; runs to its end even if the caller is
    /// cancelled, so that the adapter is not left off.
    ///
    /// - Parameter result: called once, perhaps before this returns.
    func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void)

    /// Resets the adapter's controller, as if it were unplugged and plugged in again, for all programs of the machine.
    /// Meanwhile the adapter is ``AdapterInfo/State/absent``; it comes back on or off as before, and on if a failed
    /// power cycle has left it off. Runs to its end even if the caller is cancelled.
    ///
    /// - Parameter result: called once, when it is back, unless the activity is cancelled first.
    func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity

    /// Reads which PHYs the adapter's controller supports, and which it uses for links.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first.
    func readPHYs(result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void) -> RadioActivity

    /// Selects the PHYs that the adapter uses for its links, together with the mandatory ones; for all programs of the
    /// machine.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first.
    func selectPHYs(
        _ selection: AdapterPHYs.Selection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity

    /// Reads whether the adapter uses changing private addresses.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first.
    func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity

    /// Switches the use of changing private addresses on or off, in both roles; for all programs of the machine. Runs
    /// to its end even if the caller is cancelled.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first; ``BLEError/Code/busy`` if the adapter
    ///   is in use and may not be interrupted.
    func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity

    /// Scans until the activity is cancelled. One scan at a time: a second one fails with ``BLEError/Code/busy``.
    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity

    /// Connects to a peer. Exactly one result comes, unless the activity is cancelled first, which ends the attempt.
    ///
    /// There is no time limit here: cancel the activity to impose one. A failed attempt is a ``BLEError`` with the
    /// cause.
    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity

    /// Connects as ``connect(to:result:)`` does, and asks for connection parameters.
    ///
    /// - Parameter parameters: the desired parameters; `nil`: the radio's default. A radio that can't request them
    ///   connects anyway: ``ATTLink/readConditions(_:)`` reads what is in force.
    func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity

    /// Whether this machine already has a link to a device, made by any program: such a device may not advertise.
    ///
    /// - Parameter peer: its address; a radio may compare the octets alone, without the kind.
    func hasLink(to peer: BluetoothAddress) -> Bool

    /// Whether the adapter has any link, in either role, made by any program: a step that switches the adapter off
    /// would end it.
    var isLinked: Bool { get }

    /// What prevents the adapter from connecting at this moment, as far as the radio knows; `nil` if nothing does.
    ///
    /// Attempts wait while the obstacle lasts, and then continue by themselves. An attempt that is given up meanwhile
    /// reports the obstacle as its cause.
    var connectObstacle: BLEError? { get }

    /// What prevents this program from pairing, as far as the radio knows without asking the adapter, such as a missing
    /// permission; `nil` if nothing does. ``pair(with:asking:result:)`` fails with the same error.
    var pairingObstacle: BLEError? { get }

    /// Accepts links that other devices make to this adapter, until the activity is cancelled. One listener at a time:
    /// a second one fails with ``BLEError/Code/busy``.
    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity

    /// Advertises until the activity is cancelled. A request that doesn't fit fails with ``BLEError/Code/overflow``.
    ///
    /// - Returns: the activity, with ``RadioActivity/change(to:result:)`` if the radio can change an advertisement that
    ///   is on air.
    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity

    /// Pairs with a peer that is connected.
    ///
    /// - Parameters:
    ///   - interview: answers the questions of the pairing; ``PairingInterview/justWorks`` asks nothing. It is released
    ///     with the activity, and asked nothing after the result.
    ///   - result: called once, unless the activity is cancelled first, with the keys to keep, or `nil` if the peer
    ///     does not bond or the adapter already has the keys. An answer that refuses is an error with its
    ///     ``BLEError/pairingFailure``.
    func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity

    /// Announces the program's pairing capability before it makes a link to a bonded peer whose keys it may want to
    /// replace by better ones: ``ATTLink/raise(to:asking:result:)``. Applies to the next link to that peer, unless it is
    /// withdrawn before by ``PairingCapability/noInputNoOutput``: that must not block.
    func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability)

    /// Makes this device's out-of-band data for the next pairing; data made earlier becomes invalid.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first.
    func makeOutOfBandData(result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void) -> RadioActivity

    /// Answers the pairings that centrals begin, until the activity is cancelled. Only one reception at a time: a
    /// second one fails with ``BLEError/Code/busy``.
    ///
    /// Begin it before centrals can connect: the capability applies to links that are made afterwards.
    ///
    /// - Parameters:
    ///   - reception: the device's capability, and who answers.
    ///   - events: called when the reception has begun or failed; then for each pairing that has ended.
    func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity

    /// Gives the adapter the keys of bonds that an earlier run of the program has made.
    ///
    /// - Parameters:
    ///   - bonds: all bonds of this adapter: an adapter may know only the last list that it was given.
    ///   - result: called once, unless the activity is cancelled first. After a failure, connect nevertheless: the
    ///     adapter may have the keys from elsewhere.
    func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity

    /// Removes the keys of a peer from the adapter, and drops a link to it. While the adapter is not on, it fails, and
    /// removes nothing.
    ///
    /// - Parameter result: called once, unless the activity is cancelled first, with whether there were any keys.
    func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity

    /// Reports when the adapter has carried out everything that this program has requested and cancelled so far. A
    /// request cancelled before the adapter had completed it must still be undone: a program that ends earlier would
    /// leave it behind.
    ///
    /// - Parameter done: called once, unless the activity is cancelled first.
    func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity
}

extension Radio {
    /// None.
    public var executor: (any TaskExecutor)? { nil }

    /// Reports at once: nothing is ever outstanding.
    public func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
        timeline.schedule(after: .zero, done)
    }

    /// Reports nothing.
    public func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
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
            cause: "this radio can't be switched by a program",
            remedy: "Switch the adapter by hand, or use a radio that implements setPowered(_:result:)."
        )
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        let error = BLEError(
            .notSupported,
            operation: "reset",
            object: adapterInfo.name,
            cause: "this radio can't be reset by a program",
            remedy: "Unplug the adapter and plug it in again, or use a radio that implements reset(result:)."
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
        _ selection: AdapterPHYs.Selection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let error = BLEError.knowsNoPHYs(adapterInfo.name, operation: "select PHYs")
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Always false.
    public func hasLink(to peer: BluetoothAddress) -> Bool { false }

    /// Always false: a recovery then spares only the links that its own central has made.
    public var isLinked: Bool { false }

    /// Nothing.
    public var connectObstacle: BLEError? { nil }

    /// Nothing.
    public var pairingObstacle: BLEError? { nil }

    /// Connects without requesting parameters, for a radio that doesn't support them.
    public func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, result: result)
    }
}

/// What a scan requests of the radio. Further filtering is done by the layer above.
public struct ScanRequest: Hashable, Sendable {
    /// Services of which an advertisement must list at least one; empty: all advertisements. A radio may ignore this.
    public var services: [BluetoothUUID]

    /// Whether the scan requests scan responses.
    public var isActive: Bool

    /// Whether every advertisement is reported, or each device only now and then. A radio may report every one all the
    /// same.
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
    /// The radio is scanning.
    case started
    /// Advertisements received in one wake-up, in order.
    case reports([AdvertisingReport])
    /// The kernel dropped this many advertisement packets for lack of buffer space; they are lost.
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
    /// A central was not accepted: the system refuses this program further sockets, or another program has accepted the
    /// link. New centrals wait; the listener retries by itself.
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
