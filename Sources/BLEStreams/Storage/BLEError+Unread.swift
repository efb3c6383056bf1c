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
}
