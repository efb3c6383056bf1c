import BLEProtocol

extension BLEError {
    /// Why a link could not be encrypted with the keys of a bond.
    ///
    /// - Parameters:
    ///   - told: the radio's error; `nil` if it gave no answer in time.
    ///   - keysNotRestored: why the keys could not be loaded into the adapter, if they could not.
    static func notEncrypted(
        _ told: BLEError?,
        keysNotRestored: BLEError? = nil,
        operation: String,
        object: String
    ) -> BLEError {
        let told = told?.about(operation, object)
        // Only the side that still has its key learns that the peer has lost its own.
        if let told, told.reason?.kind == .keyMissing { return told }
        // A link that was lost says nothing about the keys: a bluetoothd may have loaded them. But a peripheral may end
        // a link that isn't encrypted.
        if let told, told.code == .disconnected { return keysNotRestored.map(told.alsoWithoutKeys) ?? told }
        if let keysNotRestored { return .withoutKeys(operation, object, because: keysNotRestored) }
        return told ?? .encryptionUnanswered(operation, object)
    }

    private static func encryptionUnanswered(_ operation: String, _ object: String) -> BLEError {
        BLEError(
            .securityFailed,
            operation: operation,
            object: object,
            cause: "the link could not be encrypted with the bond's keys: the peripheral did not answer the request",
            remedy: "Try again; if it fails each time, remove the bond with Peripheral.unpair(), then pair again."
        )
    }

    private func alsoWithoutKeys(because error: BLEError) -> BLEError {
        var failure = self
        failure.cause += ", and the adapter had not accepted the bond's keys before: \(error.cause)"
        if !error.remedy.isEmpty { failure.remedy = error.remedy }
        return failure
    }

    private static func withoutKeys(_ operation: String, _ object: String, because error: BLEError) -> BLEError {
        var failure = BLEError(
            .securityFailed,
            operation: operation,
            object: object,
            cause:
                "the link could not be encrypted because the adapter did not accept the bond's keys: \(error.cause)",
            remedy: error.remedy
        )
        failure.systemError = error.systemError
        // They are loaded again for the next link.
        failure.isFinal = error.isFinal
        return failure
    }
}
