public import BLEProtocol

/// Whether an adapter is to hide behind addresses that change, and the keys by which those who have them know it again.
///
/// Printing or dumping it shows no key. Source: Core Specification, Vol 3, Part C, 10.7.
public struct AdapterPrivacy: Hashable, Sendable {
    /// Whether it is to hide.
    public let isOn: Bool

    /// Whether what others do with the adapter may be ended for it: links, advertising, scans.
    public let interrupts: Bool

    /// The keys, by the addresses of the adapters they belong to.
    package let keys: [BluetoothAddress: SecretKey]

    package init(isOn: Bool, interrupts: Bool = false, keys: [BluetoothAddress: SecretKey] = [:]) {
        self.isOn = isOn
        self.interrupts = interrupts
        self.keys = keys
    }
}

extension AdapterPrivacy: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// `private`, or `not private`.
    public var description: String { isOn ? "private" : "not private" }
    /// As ``description``.
    public var debugDescription: String { description }
    /// Whether it is to hide, and whether others may be interrupted.
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
            cause: "it can't hide behind addresses that change",
            remedy: "Use an adapter with Low Energy of this machine, or a simulated one."
        )
    }

    /// Somebody uses the adapter, which has to be off for a moment.
    ///
    /// - Parameter use: what for: `a link with C4:F2:17:1A:1D:BB`.
    package static func privacyWouldInterrupt(_ use: String, of adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "set privacy",
            object: adapter,
            cause: "it has to be switched off for a moment, and that would end \(use)",
            remedy: "End that first, or allow it with Central.setPrivacy(_:interrupting: true)."
        )
    }
}
