import BLEProtocol
import BLERadio

extension CommandContext {
    /// How long a cancelled caller waits for the last part.
    private static let partsLimit = Duration.seconds(5)

    /// Writes what the device puts together from several values.
    ///
    /// The device would take what comes next on the link for the rest of what was cut off. So the other parts are
    /// written even if the task is cancelled, or another command replaces this one, after the first one. If that takes
    /// longer than 5 s from then on, the link is closed: a new one begins with nothing.
    ///
    /// - Parameters:
    ///   - size: the most octets of a part; no more than one PDU holds.
    ///   - kind: with or without response.
    /// - Throws: what a write throws; `CancellationError` before the first part.
    package func write(
        _ octets: [UInt8],
        inPartsOf size: Int,
        to key: some CharacteristicKey,
        _ kind: Link.WriteKind
    ) async throws {
        let (link, selector) = (try self.link, key.reference.selector)
        try Task.checkCancellation()
        let isOver = Ending<Void>()
        defer { isOver.end() }
        try await withTaskCancellationHandler {
            for start in stride(from: 0, to: octets.count, by: size) {
                let part = Array(octets[start..<min(start + size, octets.count)])
                try await link.writeUndisturbed(part, selector, isCommand: kind == .withoutResponse)
            }
        } onCancel: {
            let timer = link.timeline.schedule(after: Self.partsLimit) {
                link.bearer.close(DisconnectReason(.closedLocally))
            }
            isOver.cancel(timer)
        }
    }
}

extension Link {
    /// Writes a value whether or not the task is cancelled.
    fileprivate func writeUndisturbed(
        _ value: [UInt8],
        _ selector: CharacteristicSelector,
        isCommand: Bool
    ) async throws {
        // The short path, as of any other write without response.
        if isCommand, let found = try known(selector, operation: "write"),
            found.properties.contains(.writeWithoutResponse),
            bearer.sendAtOnce(GATTClient.command(writing: value, to: found.valueHandle), pass: pass)
        {
            return
        }
        let outcome: Result<Void, BLEError> = await undisturbedReply(on: timeline) { finish in
            _ = start(
                .characteristic(selector, anyOf: isCommand ? .writeWithoutResponse : .write) { found in
                    if isCommand { return WriteCommand(handle: found.valueHandle, value: value) }
                    return WriteValue(handle: found.valueHandle, value: value)
                },
                operation: "write",
                object: OperationObject(.to, selector, peripheral.address),
                finish: finish
            )
            return {}
        }
        try outcome.get()
    }
}
