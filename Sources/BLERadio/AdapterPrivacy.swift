public import BLEProtocol

/// Whether an adapter uses changing private addresses, and the keys with which bonded peers recognise it.
///
/// Printing or dumping it shows no key. Source: Core Specification, Vol 3, Part C, 10.7.
public struct AdapterPrivacy: Hashable, Sendable {
    /// Whether the adapter uses private addresses.
    public let isOn: Bool

    /// Whether the change may end other uses of the adapter: links, advertising, scans.
    public let interrupts: Bool

    /// The keys, by the addresses of the adapters they belong to.
    package let keys: [BluetoothAddress: SecretKey]

    package init(isOn: Bool, interrupts: Bool = false, keys: [BluetoothAddress: SecretKey] = [:]) {
        self.isOn = isOn
        self.interrupts = interrupts
        self.keys = keys
    }
}

extension AdapterPrivacy: CustomStringConvertible, CustomReflectable {
    /// `private`, or `not private`.
    public var description: String { isOn ? "private" : "not private" }
    /// Whether the adapter uses private addresses, and whether the change may interrupt other uses.
    public var customMirror: Mirror { Mirror(self, children: ["isOn": isOn, "interrupts": interrupts]) }
}

extension Radio {
    /// Fails with ``BLEError/Code/notSupported``.
    public func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        let error = BLEError.hasNoPrivacy(adapterInfo.name, operation: "read privacy")
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let error = BLEError.hasNoPrivacy(adapterInfo.name, operation: "set privacy")
        return timeline.schedule(after: .zero) { result(.failure(error)) }
    }
}

extension BLEError {
    /// The radio can't hide its address.
    package static func hasNoPrivacy(_ adapter: String, operation: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: adapter,
            cause: "this radio doesn't support private addresses",
            remedy: "Use a Low Energy adapter of this machine, or a simulated one."
        )
    }

    /// The adapter is in use, and the change requires switching it off briefly.
    ///
    /// - Parameter use: what it is used for: `a link with C4:F2:17:1A:1D:BB`.
    package static func privacyWouldInterrupt(_ use: String, of adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "set privacy",
            object: adapter,
            cause: "the change requires switching the adapter off briefly, which would end \(use)",
            remedy: "End that first, or allow it with Central.setPrivacy(_:interrupting: true)."
        )
    }
}
