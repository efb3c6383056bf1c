internal import BLEProtocol
internal import BLERadio

/// One of the machine's adapters by its name, whether it is plugged in at the moment or not.
///
/// What is asked here anybody may ask: it takes no capability.
final class LinuxAdapter: Sendable {
    /// The system's name: `hci0`.
    let name: String
    /// The number in the name.
    let number: UInt16

    private let socket: FileDescriptor

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
            self.name = name
            self.number = number
        } else {
            let present = (try? socket.adapters()) ?? []
            guard let chosen = present.first(where: \.isUp) ?? present.first else {
                throw .noAdapter(operation: "open", object: object)
            }
            self.name = "hci\(chosen.number)"
            number = chosen.number
        }
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
    var facts: AdapterFacts? { try? socket.adapter(number) }

    /// Whether it is there and on.
    var isUp: Bool { facts?.isUp ?? false }

    /// What it is now, as a program sees it.
    var info: AdapterInfo {
        guard let facts else { return AdapterInfo(name: name, address: nil, state: .absent) }
        let state: AdapterState =
            if facts.isUp { .poweredOn } else { RadioSwitches.block(of: name) == nil ? .poweredOff : .blocked }
        return AdapterInfo(name: name, address: facts.address, state: state)
    }

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
