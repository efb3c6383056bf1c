internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// One of the machine's adapters, whether or not it is plugged in.
///
/// It is chosen by its name. Once seen, it is identified by its address: an adapter that is unplugged and plugged in
/// again may get another number, and its old number may go to another adapter. A controller without a public address is
/// identified by its number only. If the address of a plugged-in controller is rewritten, it stays the same adapter,
/// and is identified by its new address from then on.
///
/// Nothing here requires a capability.
final class LinuxAdapter: Sendable {
    private struct Place {
        /// `nil` while there is no adapter to choose.
        var number: UInt16?
        /// Whether it was absent when it was last looked for.
        var isAway = false
        /// `nil` before the adapter was seen.
        var address: BluetoothAddress?
        /// Shows whether the number still belongs to the controller that was seen with it.
        var grip: (number: UInt16, grip: any AdapterGrip)?
        /// How often a held controller has disappeared.
        var removals = 0
    }

    /// The kernel that has the adapter.
    let kernel: Kernel
    /// `nil` if the system doesn't let this program open one.
    private let socket: SharedDescriptor?
    /// What the kernel reports about all adapters; absent for the same reason.
    private let table: (any AdapterTable)?
    /// Why the system doesn't let this program open a socket.
    private let refusal: SystemError?
    private let place: Mutex<Place>

    /// The system's name for it now: `hci0`; its address if it has not been seen; a text that says so if there is no
    /// adapter.
    var name: String {
        let place = place.withLock { $0 }
        return place.number.map { "hci\($0)" } ?? place.address?.description ?? "no adapter"
    }

    /// The number in the name; the number that stands for no adapter if there is none to choose.
    var number: UInt16 { place.withLock { $0.number } ?? .max }

    /// The number in the name while the adapter is present, as far as was seen; otherwise the number that stands for no
    /// adapter: another one may have its number.
    var presentNumber: UInt16 { place.withLock { $0.isAway ? nil : $0.number } ?? .max }

    /// Names an adapter; `nil` for the first that is powered, otherwise the first one present.
    ///
    /// - Parameter mayBeMissing: whether it may appear later; if none is named, the first to appear is taken. Then a
    ///   program that may not open Bluetooth sockets gets an adapter too, whose state says so.
    /// - Throws: ``BLEError/Code/invalidArgument`` for an invalid name, ``BLEError/Code/adapterNotFound`` if none is
    ///   named and there is none, ``BLEError/Code/adapterBlocked`` if that is the work of a switch of the machine,
    ///   ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel, ``BLEError/Code/permissionDenied`` if the
    ///   system doesn't let this program open Bluetooth sockets.
    convenience init(_ name: String?, mayBeMissing: Bool = false, of kernel: Kernel) throws(BLEError) {
        let object = name ?? "the default adapter"
        var socket: SharedDescriptor?
        var refusal: SystemError?
        do throws(SystemError) {
            socket = SharedDescriptor(try FileDescriptor.hciSocket(of: kernel))
        } catch {
            guard mayBeMissing, AdapterInfo.State(adapterRefusedBy: error) == .unauthorized else {
                throw .noBluetooth(error, operation: "open", object: object, on: kernel)
            }
            refusal = error
        }
        try self.init(name, socket: socket, refusal: refusal, of: kernel)
        do throws(SystemError) {
            // So that it is identified by its address from now on.
            if try latest() != nil || name != nil || mayBeMissing { return }
        } catch {
            if name != nil || mayBeMissing { return }
            throw .noBluetooth(error, call: "listing adapters", operation: "open", object: object, hidden: nil)
        }
        throw .noAdapter(operation: "open", object: object, cut: RadioSwitches.cut(on: kernel))
    }

    /// Names an adapter by its address; it may appear later.
    ///
    /// - Throws: as above.
    convenience init(at address: BluetoothAddress, of kernel: Kernel) throws(BLEError) {
        do throws(SystemError) {
            let socket = SharedDescriptor(try FileDescriptor.hciSocket(of: kernel))
            self.init(at: address, socket: socket, table: KernelAdapterTable(socket), of: kernel)
        } catch {
            throw .noBluetooth(error, operation: "open", object: "\(address)", on: kernel)
        }
    }

    init(
        at address: BluetoothAddress,
        socket: SharedDescriptor?,
        table: any AdapterTable,
        of kernel: Kernel = .ofThisMachine
    ) {
        self.kernel = kernel
        self.socket = socket
        self.table = table
        refusal = nil
        place = Mutex(Place(address: address))
    }

    /// - Parameters:
    ///   - refusal: why there is no socket.
    ///   - table: what the kernel reports about adapters; `nil`: what it reports through the socket.
    init(
        _ name: String?,
        socket: SharedDescriptor?,
        refusal: SystemError?,
        table: (any AdapterTable)? = nil,
        of kernel: Kernel = .ofThisMachine
    ) throws(BLEError) {
        self.kernel = kernel
        self.socket = socket
        self.refusal = refusal
        self.table = table ?? socket.map { KernelAdapterTable($0) }
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

    /// What the kernel reports about it now; `nil` while it is absent, or if the kernel can't be asked.
    var facts: AdapterFacts? { try? latest() }

    /// How often it was found to be unplugged, or plugged in again. The kernel has then forgotten all that it had for
    /// it, such as keys, even if its name is the same.
    var removals: Int {
        _ = facts
        return place.withLock { $0.removals }
    }

    /// The same, as far as was seen.
    var seenRemovals: Int { place.withLock { $0.removals } }

    /// What the kernel reports about it now; `nil` while it is absent.
    private func latest() throws(SystemError) -> AdapterFacts? {
        guard let table else { throw refusal ?? .notPermitted }
        let known = place.withLock { $0 }
        guard let here = try Self.found(known, in: table) else {
            // The number of a removed controller is not reassigned before every hold on it is released.
            let former = place.withLock { place -> Place in
                defer {
                    if place.grip != nil { place.removals += 1 }
                    (place.grip, place.isAway) = (nil, true)
                }
                return place
            }
            if former.grip != nil { Self.wasUnplugged(former) }
            return nil
        }
        let held = known.grip.flatMap { $0.number == here.number && $0.grip.isThere ? $0 : nil }
        let grip = held ?? Self.grip(here, in: table)
        // A hold that doesn't even show a controller that was just found shows nothing.
        let mayBeAnew = held == nil && grip?.grip.isThere == true
        let (former, isAnew) = place.withLock { place -> (Place, Bool) in
            // Unless another thread has counted it, which holds the new one then.
            let isAnew = mayBeAnew && place.grip?.grip.isThere == false
            defer {
                place = Place(
                    number: here.number,
                    address: here.knownAddress ?? place.address,
                    // Where it can't be held now, the former hold shows later that it was gone.
                    grip: grip ?? place.grip,
                    removals: place.removals + (isAnew ? 1 : 0)
                )
            }
            return (place, isAnew)
        }
        if isAnew { Self.wasUnplugged(former) }
        withExtendedLifetime(former) {}
        return here
    }

    /// This program has not switched off the adapter that gets the number next: a new one is off when it is plugged in.
    private static func wasUnplugged(_ former: Place) {
        if let number = former.number { SwitchedHere.remove("hci\(number)") }
    }

    private static func found(_ known: Place, in table: any AdapterTable) throws(SystemError) -> AdapterFacts? {
        guard let address = known.address else {
            guard let number = known.number else { return choice(of: try table.adapters()) }
            return try table.present(number)
        }
        if let number = known.number, let here = try table.present(number) {
            if here.address == address { return here }
            // Its address was rewritten: by bluetoothd, its driver, or a program at boot.
            if let grip = known.grip, grip.number == number, grip.grip.isThere { return here }
        }
        return try table.adapters().first { $0.address == address }
    }

    /// Holds a controller that was seen, if it is still the same one.
    private static func grip(
        _ seen: AdapterFacts,
        in table: any AdapterTable
    ) -> (number: UInt16, grip: any AdapterGrip)? {
        // In this order: what is seen after the hold began is what is held.
        guard let grip = try? table.grip(seen.number), let now = try? table.present(seen.number),
            now.address == seen.address
        else { return nil }
        return (seen.number, grip)
    }

    /// The adapter that is taken if none is named: preferably one that is on and supports Low Energy.
    static func choice(of present: [AdapterFacts]) -> AdapterFacts? {
        let fit = present.filter { !$0.lacksLowEnergy }
        return fit.first(where: \.isUp) ?? fit.first ?? present.first
    }

    /// Whether it is present and on.
    var isUp: Bool { facts?.isUp ?? false }

    /// Its current state, as a program sees it.
    var info: AdapterInfo {
        do throws(SystemError) {
            return AdapterInfo(try latest(), name: name, on: kernel)
        } catch {
            return AdapterInfo(name: name, address: nil, state: AdapterInfo.State(adapterRefusedBy: error))
        }
    }

    /// Closes it whether or not its controller answers; may block for some seconds.
    func close() throws(SystemError) {
        guard let socket else { throw refusal ?? .notPermitted }
        try socket.descriptor.closeAdapter(number)
    }

    /// Whether the kernel has a connection to a device now, made by any program; `nil` if it doesn't say.
    func isConnected(to peer: BluetoothAddress) -> Bool? {
        try? socket?.descriptor.isConnected(number, to: peer)
    }

    /// The peers to which it is connecting, or for which it waits, for any program; empty if the kernel doesn't say.
    /// The kinds of their addresses are not reported.
    var attempts: [BluetoothAddress] { (try? socket?.descriptor.attempts(of: number)) ?? [] }

    /// The peers of the links on which it is the central, or the peripheral, made by any program; empty if the kernel
    /// doesn't say.
    func peers(asCentral isCentral: Bool) -> [BluetoothAddress] {
        (try? socket?.descriptor.peers(of: number, asCentral: isCentral)) ?? []
    }

    /// The peers of all links, in either role, made by any program; empty if the kernel doesn't say.
    var peers: [BluetoothAddress] { peers(asCentral: true) + peers(asCentral: false) }

    /// The handles of all links, Bluetooth Classic's among them, in either role, made by any program; `nil` if the
    /// kernel doesn't say.
    var handles: [UInt16]? { try? socket?.descriptor.handles(ofLinksOf: number) }

    /// Whether it has a link; `false` if the kernel doesn't say.
    var isLinked: Bool { !peers.isEmpty }

    /// The adapter's facts if it can be used now.
    ///
    /// - Throws: an error that says why it can't, and what to do.
    func usable(for operation: String, object: String) throws(BLEError) -> AdapterFacts {
        let facts = facts
        guard let facts, facts.isUp, !facts.lacksLowEnergy else { throw whyUnusable(for: operation, object: object) }
        return facts
    }

    /// The adapter's facts if a link can be made with it now: the kernel finds a socket's adapter by its address, and
    /// if two adapters have the same, it makes its own choice.
    ///
    /// - Throws: an error that says why it can't, and what to do.
    func linkable(for operation: String, object: String) throws(BLEError) -> AdapterFacts {
        let facts = try usable(for: operation, object: object)
        let listed = (try? socket?.descriptor.adaptersAsListed()) ?? []
        if let other = Self.rival(of: facts, among: listed) {
            throw .adapterHasTwin(name, "hci\(other.number)", facts.address, operation: operation, object: object)
        }
        return facts
    }

    /// The adapter that the kernel would take instead of this one, because it has the same address; `nil` if it takes
    /// this one.
    ///
    /// - Parameter listed: the adapters in the kernel's own order.
    static func rival(of facts: AdapterFacts, among listed: [AdapterFacts]) -> AdapterFacts? {
        guard let address = facts.knownAddress else { return nil }
        let taken = listed.first { $0.isUp && $0.address == address }
        return taken.flatMap { $0.number == facts.number ? nil : $0 }
    }

    /// Why the adapter can't be used.
    ///
    /// - Parameter told: the state that the kernel has reported, if it has: an adapter that was switched off may be
    ///   starting, or on again, by the time it is queried.
    func whyUnusable(for operation: String, object: String, told: AdapterInfo.State? = nil) -> BLEError {
        if facts?.isUnconfigured == true { return .adapterUnconfigured(name, operation: operation, object: object) }
        let now = info.state
        let isBack = now == .poweredOn || now.isPassing
        switch isBack ? told ?? now : now {
        case .absent where isBack: return .adapterWasRemoved(name, operation: operation, object: object)
        case .absent:
            let others = ((try? table?.adapters()) ?? []).map { "hci\($0.number)" }
            let address = place.withLock { $0.address }
            // Its number may belong to another adapter by now.
            let absent = others.contains(name) ? address.map { "with the address \($0)" } : nil
            return .adapterAbsent(
                absent ?? name,
                others: others,
                operation: operation,
                object: object,
                cut: RadioSwitches.cut(on: kernel)
            )
        case .blocked:
            return .adapterBlocked(
                name,
                by: RadioSwitches.block(of: name, on: kernel),
                operation: operation,
                object: object
            )
        case .poweredOff, .poweredOn:
            return .adapterPoweredOff(name, operation: operation, object: object)
        case .unauthorized:
            return .noBluetooth(refusal ?? .notPermitted, operation: operation, object: object, hidden: nil)
        case .unsupported:
            return .adapterLacksLowEnergy(name, operation: operation, object: object)
        case .unknown, .resetting:
            return .adapterNotReady(name, operation: operation, object: object)
        }
    }
}

extension AdapterFacts {
    /// The address that identifies it wherever it is plugged in; `nil` if it has none.
    fileprivate var knownAddress: BluetoothAddress? { hasNoPublicAddress ? nil : address }
}
