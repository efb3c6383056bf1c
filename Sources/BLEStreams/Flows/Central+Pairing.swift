import BLEProtocol
import BLERadio

extension Central {
    /// Finds a device by what it advertises, and pairs with it. Finding, connecting, pairing, verifying and remembering
    /// are one flow with one time limit, that of the ``PairingFlow``.
    ///
    /// ```swift
    /// let outcome = try await central.pair(
    ///     with: .namePrefix("Thermo"),
    ///     by: PairingFlow(reading: BluetoothUUID(0x2A19), limit: .seconds(30))
    /// )
    /// print("Paired with \(outcome.peripheral.bond?.peer ?? outcome.peripheral.address).")
    /// ```
    ///
    /// This takes the first device heard that meets the filters and accepts connections. Its link ends before the call
    /// returns. Cancellation ends whatever is in progress.
    ///
    /// - Parameters:
    ///   - filters: what the device advertises; at least one, a name prefix for example. See ``ScanFilter``.
    ///   - flow: how to pair with it.
    ///   - onProgress: called at the beginning of each phase, on any thread; it must not block.
    /// - Returns: what the flow returns.
    /// - Throws: ``BLEError/Code/invalidArgument`` without a filter; ``BLEError/Code/timedOut``, with the phase, when
    ///   the limit is over; what scanning and the flow throw; `CancellationError`.
    @discardableResult
    public func pair(
        with filters: ScanFilter...,
        by flow: PairingFlow,
        onProgress: @escaping @Sendable (CommandProgress) -> Void = { _ in }
    ) async throws -> PairingFlow.Outcome {
        guard !filters.isEmpty else { throw BLEError.pairingWithAnybody() }
        let stage = PairingStage(filters.inWords) { onProgress(CommandProgress(phase: $0)) }
        return try await stage.limited(to: flow.limit, on: core.timeline) {
            stage.begin("find")
            let peripheral = try await self.scan(for: filters + [.connectable]).first().peripheral
            stage.found(peripheral)
            return try await peripheral.withQueue { queue in try await queue.run(FoundPairing(flow: flow, stage: stage))
            }
        }
    }
}

/// A pairing with a device that is already found; the caller limits its time.
private struct FoundPairing: Command {
    let flow: PairingFlow
    let stage: PairingStage

    var name: String { flow.name }

    func run(in context: CommandContext) async throws -> PairingFlow.Outcome { try await flow.run(in: context, stage) }
}

extension BLEError {
    fileprivate static func pairingWithAnybody() -> BLEError {
        BLEError(
            .invalidArgument,
            operation: PairingStage.operation,
            cause: "nothing says which device is meant",
            remedy: "Give a filter: .namePrefix, .service, .address."
        )
    }
}
