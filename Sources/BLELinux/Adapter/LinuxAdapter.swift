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
        var number: UInt16
        /// `nil` before it was seen.
        var address: BluetoothAddress?
    }

    private let socket: FileDescriptor
    private let place: Mutex<Place>

    /// The system's name for it now: `hci0`.
    var name: String { "hci\(number)" }

    /// The number in the name.
    var number: UInt16 { place.withLock { $0.number } }

    /// Names an adapter; `nil` for the first that is powered, or else the first there is.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` for what is no adapter's name, ``BLEError/Code/adapterNotFound``
    ///   where none was named and there is none, ``BLEError/Code/unsupportedSystem`` without Bluetooth in the kernel.
    init(_ name: String?) throws(BLEError) {
        let object = name ?? "the default adapter"
        do throws(SystemError) {
            socket = try FileDescriptor.hciSocket()
        } catch {
            throw .noBluetooth(error, operation: "open", object: object)
        }
        if let name {
            guard let number = Self.number(in: name) else { throw .malformedAdapterName(name) }
            place = Mutex(Place(number: number))
        } else {
            let present = (try? socket.adapters()) ?? []
            guard let chosen = present.first(where: \.isUp) ?? present.first else {
                throw .noAdapter(operation: "open", object: object)
            }
            place = Mutex(Place(number: chosen.number))
        }
        // So that it is known by its address from now on.
        _ = facts
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

    /// What the kernel says of it now; `nil` while it is absent.
    var facts: AdapterFacts? {
        let known = place.withLock { $0 }
        let here = try? socket.adapter(known.number)
        guard let address = known.address else {
            if let here, !here.hasNoPublicAddress { place.withLock { $0.address = here.address } }
            return here
        }
        if let here, here.address == address { return here }
        guard let moved = (try? socket.adapters())?.first(where: { $0.address == address }) else { return nil }
        place.withLock { $0.number = moved.number }
        return moved
    }

    /// Whether it is there and on.
    var isUp: Bool { facts?.isUp ?? false }

    /// What it is now, as a program sees it.
    var info: AdapterInfo {
        guard let facts else { return AdapterInfo(name: name, address: nil, state: .absent) }
        let state: AdapterState =
            if facts.isUp { .poweredOn } else { RadioSwitches.block(of: name) == nil ? .poweredOff : .blocked }
        return AdapterInfo(name: name, address: facts.address, state: state)
    }

    /// Whether the kernel has a connection to a device now, whoever made it; `nil` where it doesn't tell.
    func isConnected(to peer: BluetoothAddress) -> Bool? { try? socket.isConnected(number, to: peer) }

    /// The adapter's facts where it can be used now.
    ///
    /// - Throws: An error that says why it can't, and what to do.
    func usable(for operation: String, object: String) throws(BLEError) -> AdapterFacts {
        guard let facts, facts.isUp else { throw whyUnusable(for: operation, object: object) }
        return facts
    }

    /// Why the adapter can't be used.
    func whyUnusable(for operation: String, object: String) -> BLEError {
        switch info.state {
        case .absent:
            let others = ((try? socket.adapters()) ?? []).map { "hci\($0.number)" }
            return .adapterAbsent(name, others: others, operation: operation, object: object)
        case .blocked:
            return .adapterBlocked(name, by: RadioSwitches.block(of: name), operation: operation, object: object)
        case .poweredOff, .poweredOn:
            return .adapterPoweredOff(name, operation: operation, object: object)
        }
    }
}
