import BLEProtocol

extension BLEError {
    /// Whether the adapter can't be used at all: neither for a scan nor for a link with any peer.
    var isAboutAdapter: Bool {
        switch code {
        case .adapterNotFound, .adapterPoweredOff, .adapterBlocked, .adapterNotReady: true
        default: reason?.kind == .adapterOff
        }
    }

    static func bufferOverflow(_ subject: StreamSubject, capacity: Int) -> BLEError {
        BLEError(
            .overflow,
            operation: subject.operation,
            object: subject.object,
            cause: "the consumer is slower than the source, and the buffer of \(capacity) values is full",
            remedy: "Consume values faster, or choose another buffer policy."
        )
    }

    /// What to do when a scan has found nothing in time: there is no peer yet that could answer.
    static let remedyOfVainScan =
        "Check that the device is switched on, in range, advertising and not connected to another central, nor to this "
        + "machine by another program, such as bluetoothd, and that the filters match it; or allow more time."

    static func timedOut(_ operation: String, object: String = "", after limit: Duration, waitingFor: String)
        -> BLEError
    {
        var error = BLEError(
            .timedOut,
            operation: operation,
            object: object,
            cause: "\(waitingFor) within \(limit)",
            remedy: "Check that the peer is in range and answers, or allow more time."
        )
        error.elapsed = limit
        return error
    }

    /// A limit has passed for what the adapter alone answers: the peer has no part in it.
    static func adapterTimedOut(_ operation: String, object: String, after limit: Duration) -> BLEError {
        var error = timedOut(operation, object: object, after: limit, waitingFor: "the adapter did not answer")
        error.remedy = "Try again; if it happens each time, switch the adapter off and on: `Central.powerCycle()`."
        return error
    }

    /// A limit has passed for a pairing, which waits for people.
    static func pairingTimedOut(_ operation: String, object: String, after limit: Duration) -> BLEError {
        var error = timedOut(operation, object: object, after: limit, waitingFor: "pairing did not end")
        error.remedy = remedyOfLongPairing
        return error
    }

    /// What to do about a pairing that does not end.
    static let remedyOfLongPairing = "Answer the questions of the pairing on both devices, or allow more time."
}
