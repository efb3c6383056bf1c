public import BLEProtocol

// Defaults for a radio that can't pair; a custom radio may leave out pairing and bonds.
extension Radio {
    /// Fails with ``BLEError/Code/notSupported``.
    public func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        RadioActivity.told(on: timeline, result, .failure(.noPairing(operation: "pair", peer)))
    }

    /// Does nothing.
    public func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {}

    /// Fails with ``BLEError/Code/notSupported``.
    public func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        RadioActivity.told(on: timeline, result, .failure(.noOutOfBandData(on: adapterInfo.name)))
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        let error = BLEError(
            .notSupported,
            operation: "receive pairings",
            object: "on \(adapterInfo.name)",
            cause: "this radio can't pair",
            remedy: "Use a radio that implements receivePairings(_:events:), or do without encryption."
        )
        return timeline.schedule(after: .zero) { events(.ended(error)) }
    }

    /// Fails with ``BLEError/Code/notSupported``, unless there is nothing to restore.
    public func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let outcome: Result<Void, BLEError> =
            if let peer = bonds.first?.peer { .failure(.noPairing(operation: "restore bond", peer)) } else {
                .success(())
            }
        return RadioActivity.told(on: timeline, result, outcome)
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        RadioActivity.told(on: timeline, result, .failure(.noPairing(operation: "unpair", peer)))
    }
}

extension ATTLink {
    /// Whether the link is encrypted; a radio without bonds knows nothing more.
    public var hasKey: Bool { security.isEncrypted }

    /// Fails with ``BLEError/Code/notSupported`` unless the link is already encrypted.
    public func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        result(security.isEncrypted ? .success(()) : .failure(.noPairing(operation: "encrypt link", peer)))
    }

    /// Fails with ``BLEError/Code/notSupported``.
    public func raise(
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        result(.failure(.noPairing(operation: "pair", peer)))
        return RadioActivity {}
    }

    /// Reports nothing.
    public func observeSecurity(_ changed: @escaping @Sendable () -> Void) -> RadioActivity { RadioActivity {} }
}

extension RadioActivity {
    /// Reports an outcome that is already known, as a radio must: later, unless the activity is cancelled first.
    fileprivate static func told<Success: Sendable>(
        on timeline: any Timeline,
        _ result: @escaping @Sendable (Result<Success, BLEError>) -> Void,
        _ outcome: Result<Success, BLEError>
    ) -> RadioActivity {
        timeline.schedule(after: .zero) { result(outcome) }
    }
}

extension BLEError {
    /// The radio can't pair by out-of-band data.
    package static func noOutOfBandData(on adapter: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: "make out-of-band data",
            object: "on \(adapter)",
            cause: "this radio doesn't support out-of-band pairing",
            remedy: "Pair with a passkey, or by comparing numbers: PairingAnswers."
        )
    }

    fileprivate static func noPairing(operation: String, _ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: "with \(peer)",
            cause: "this radio can't pair",
            remedy: "Use a radio that implements pair(with:asking:result:), or do without encryption."
        )
    }
}
