import BLEProtocol

extension BLEError {
    /// The error of an operation that needs what the store can't read.
    ///
    /// - Parameters:
    ///   - what: what is missing, as a sentence: `not all bonds could be read`.
    ///   - obstacle: the store's error, which names the folder or the file.
    static func unread(
        _ what: String,
        _ obstacle: BLEError,
        _ operation: String,
        _ object: String = ""
    ) -> BLEError {
        var error = obstacle.about(operation, object)
        error.cause = "\(what): \(obstacle.object): \(obstacle.cause)"
        return error
    }

    /// It is not known whether there is a bond with a device already.
    ///
    /// - Parameters:
    ///   - obstacle: the store's error, which names the folder or the file.
    ///   - operation: one word, with which the remedy ends, too: `pair`.
    static func bondUnread(_ obstacle: BLEError, _ operation: String, _ object: String) -> BLEError {
        var error = unread("it can't be known whether there is a bond already", obstacle, operation, object)
        error.remedy += " Then \(operation) again."
        return error
    }
}
