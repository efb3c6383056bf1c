internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One of the machine's adapters, whether it is plugged in at the moment or not.
///
/// It is chosen by its name. Once seen it is known by its address: one that is unplugged and plugged in again may get
/// another number, and its old one may go to another adapter. A controller without a public address stays a number.
///
/// What is asked here anybody may ask: it takes no capability.
final class LinuxAdapter: Sendable {
    private struct Place {
        /// `nil` while there is none to choose from.
        var number: UInt16?
        /// `nil` before it was seen.
        var address: BluetoothAddress?
    }

    /// `nil` where the system lets this program open none.
    private let socket: SharedDescriptor?
    /// Why it lets it open none.
    private let refusal: SystemError?
    private let place: Mutex<Place>

    /// The system's name for it now: `hci0`; that there is none, where there is none to choose from.
    var name: String { place.withLock { $0.number }.map { "hci\($0)" } ?? "no adapter" }

    /// The number in the name; the one that stands for no adapter where there is none to choose from.
    var number: UInt16 { place.withLock { $0.number } ?? .max }

    /// Names an adapter; `nil` for the first that is powered, or else the first there is.
    ///
    /// - Parameter mayBeMissing: whether it may turn up later: where none was named the first one is taken that does. The
    ///   adapter of a program that may open no Bluetooth socket is there too then, and says so.
    /// - Throws: ``BLEError/Code/invalidArgument`` for what is no adapter's name, ``BLEError/Code/adapterNotFound``
    ///   where none was named and there is none, ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel,
    ///   ``BLEError/Code/permissionDenied`` where the system lets this program open no Bluetooth socket.
    convenience init(_ name: String?, mayBeMissing: Bool = false) throws(BLEError) {
        let object = name ?? "the default adapter"
        var socket: SharedDescriptor?
        var refusal: SystemError?
        do throws(SystemError) {
            socket = SharedDescriptor(try FileDescriptor.hciSocket())
        } catch {
            guard mayBeMissing, AdapterState(adapterRefusedBy: error) == .unauthorized else {
                throw .noBluetooth(error, operation: "open", object: object)
            }
            refusal = error
        }
        try self.init(name, socket: socket, refusal: refusal)
        // So that it is known by its address from now on.
        guard facts == nil, name == nil, !mayBeMissing else { return }
        throw .noAdapter(operation: "open", object: object)
    }

    /// - Parameter refusal: why there is no socket.
    init(_ name: String?, socket: SharedDescriptor?, refusal: SystemError?) throws(BLEError) {
        self.socket = socket
        self.refusal = refusal
        let number = name.flatMap { Self.number(in: $0) }
        if let name, number == nil { throw .malformedAdapterName(name) }
        place = Mutex(Place(number: number))
    }

    /// The number in `hci0`; `nil` for anything else.
    static func number(in name: String) -> UInt16? {
        guard name.hasPrefix("hci") else { return nil }
        let digits = name.dropFirst(3)
        guard !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }), digits == "0" || digits.first != "0"
        else { return nil }
        // The last number stands for "no adapter".
        return UInt16(digits).flatMap { $0 == .max ? nil : $0 }
    }

    /// What the kernel says of it now; `nil` while it is absent, or nothing can be said.
    var facts: AdapterFacts? { try? latest() }

    /// What the kernel says of it now; `nil` while it is absent.
    private func latest() throws(SystemError) -> AdapterFacts? {
        guard let socket else { throw refusal ?? .notPermitted }
        let known = place.withLock { $0 }
        guard let number = known.number else {
            let chosen = Self.choice(of: try socket.descriptor.adapters())
            if let chosen { place.withLock { $0 = Place(number: chosen.number, address: chosen.knownAddress) } }
            return chosen
        }
        var here: AdapterFacts?
        do throws(SystemError) {
            here = try socket.descriptor.adapter(number)
        } catch {
            if error != .noDevice { throw error }
        }
        guard let address = known.address else {
            if let address = here?.knownAddress { place.withLock { $0.address = address } }
            return here
        }
        if let here, here.address == address { return here }
        guard let moved = try socket.descriptor.adapters().first(where: { $0.address == address }) else { return nil }
        place.withLock { $0.number = moved.number }
        return moved
    }

    /// The one that is taken where none was named: on, and fit for Low Energy, where there is such a one.
    static func choice(of present: [AdapterFacts]) -> AdapterFacts? {
        let fit = present.filter { !$0.lacksLowEnergy }
        return fit.first(where: \.isUp) ?? fit.first ?? present.first
    }

    /// Whether it is there and on.
    var isUp: Bool { facts?.isUp ?? false }

    /// What it is now, as a program sees it.
    var info: AdapterInfo {
        do throws(SystemError) {
            let facts = try latest()
            let name = name
            let state = AdapterState(facts, isBlocked: { RadioSwitches.block(of: name) != nil })
            return AdapterInfo(name: name, address: facts?.address, state: state)
        } catch {
            return AdapterInfo(name: name, address: nil, state: AdapterState(adapterRefusedBy: error))
        }
    }

    /// Closes it whether its controller answers or not; may block for some seconds.
    func close() throws(SystemError) {
        guard let socket else { throw refusal ?? .notPermitted }
        try socket.descriptor.closeAdapter(number)
    }

    /// Whether the kernel has a connection to a device now, whoever made it; `nil` where it doesn't tell.
    func isConnected(to peer: BluetoothAddress) -> Bool? {
        try? socket?.descriptor.isConnected(number, to: peer)
    }

    /// The adapter's facts where it can be used now.
    ///
    /// - Throws: An error that says why it can't, and what to do.
    func usable(for operation: String, object: String) throws(BLEError) -> AdapterFacts {
        let facts = facts
        guard let facts, facts.isUp, !facts.lacksLowEnergy else { throw whyUnusable(for: operation, object: object) }
        return facts
    }

    /// Why the adapter can't be used.
    func whyUnusable(for operation: String, object: String) -> BLEError {
        switch info.state {
        case .absent:
            let others = ((try? socket?.descriptor.adapters()) ?? []).map { "hci\($0.number)" }
            return .adapterAbsent(name, others: others, operation: operation, object: object)
        case .blocked:
            return .adapterBlocked(name, by: RadioSwitches.block(of: name), operation: operation, object: object)
        case .poweredOff, .poweredOn:
            return .adapterPoweredOff(name, operation: operation, object: object)
        case .unauthorized:
            return .noBluetooth(refusal ?? .notPermitted, operation: operation, object: object)
        case .unsupported:
            return .adapterLacksLowEnergy(name, operation: operation, object: object)
        case .unknown, .resetting:
            return .adapterNotReady(name, operation: operation, object: object)
        }
    }
}

extension AdapterState {
    /// What an adapter is by the kernel's word of it.
    ///
    /// A controller that hangs is known by the reset that the kernel has told it to do, and by the restart that the kernel
    /// makes after an error of the hardware.
    ///
    /// - Parameters:
    ///   - facts: `nil` where there is no such adapter.
    ///   - isBlocked: whether a switch keeps it silent; asked only where it is of account.
    init(_ facts: AdapterFacts?, isBlocked: () -> Bool) {
        guard let facts else {
            self = .absent
            return
        }
        if facts.lacksLowEnergy {
            self = .unsupported
        } else if facts.isStarting {
            self = facts.isKnown ? .resetting : .unknown
        } else if facts.isUp {
            self = .poweredOn
        } else if isBlocked() {
            self = .blocked
        } else {
            self = facts.isKnown ? .poweredOff : .unknown
        }
    }

    /// What is said of an adapter of which the kernel says nothing but this.
    init(adapterRefusedBy error: SystemError) {
        self = error == .notPermitted || error == .accessDenied ? .unauthorized : .unknown
    }

    /// Whether it is on its way to another state, of which the kernel does not always tell.
    var isPassing: Bool { self == .unknown || self == .resetting }
}

extension AdapterFacts {
    /// The address by which it is known wherever it is plugged in; `nil` where it has none.
    fileprivate var knownAddress: BluetoothAddress? { hasNoPublicAddress ? nil : address }
}
