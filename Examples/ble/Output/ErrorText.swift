import BLEStreams
import Glibc

extension BLEError {
    /// What went wrong and what to do, for a person.
    var messageText: String { remedy.isEmpty ? failureText : "\(failureText) \(remedyText)" }

    /// What to do, in commands where the library speaks of calls.
    private var remedyText: String {
        let address = object.firstMatch(of: /([0-9A-F]{2}:){5}[0-9A-F]{2}/).map { String($0.0) } ?? "ADDRESS"
        let commands = [
            ("Link.discover()", "`ble info \(address)`"),
            ("Link.pair()", "`ble pair \(address)`"),
            ("Peripheral.unpair()", "`ble unpair \(address)`"),
            ("`Central.setPowered(true)`", "`ble adapter on`"),
            ("`Central.setPowered(_:)`, or let a `RecoveryPlan` do it", "`ble adapter off` and `ble adapter on`"),
            ("Central.bonds", "`ble bonds`"),
            ("BLEStream.retry(_:when:) and sessions do", "`ble notify --reconnect` does"),
        ]
        return commands.reduce(remedy) { $0.replacing($1.0, with: $1.1) }
    }

    /// What went wrong, for a person.
    var failureText: String {
        var text = operation
        if !object.isEmpty { text += " \(object)" }
        text += ": \(code.words): \(cause)"
        if let received { text += "; \(received.count) octets had been received" }
        // A cause that names the limit has told the time.
        if let elapsed, !cause.contains(" within ") { text += " (after \(elapsed.secondsText))" }
        return text.hasSuffix(".") ? text : text + "."
    }

    /// The same for a program; octets in hexadecimal, time in seconds.
    var json: JSON {
        .object(
            ("code", .string("\(code)")),
            ("operation", .string(operation)),
            ("object", object.isEmpty ? nil : .string(object)),
            ("cause", .string(cause)),
            ("remedy", remedy.isEmpty ? nil : .string(remedyText)),
            ("attError", .number(attError?.rawValue)),
            ("reason", .string(reason?.description)),
            ("errno", .number(systemError)),
            ("elapsed", elapsed.map { .decimal($0.seconds) }),
            ("received", received.map { .hex($0) })
        )
    }

    /// A file could not be read or written.
    static func file(_ operation: String, _ path: String, _ number: Int32) -> BLEError {
        var error = BLEError(
            .systemFailure,
            operation: operation,
            object: path,
            cause: String(cString: strerror(number)),
            remedy: "Check that the path is right, and that you may \(operation) it."
        )
        error.systemError = number
        return error
    }
}

extension BLEError.Code {
    /// The code as words: `timed out`.
    fileprivate var words: String {
        description.map { $0.isUppercase ? " \($0.lowercased())" : "\($0)" }.joined()
    }
}

extension Duration {
    /// The length in seconds.
    var seconds: Double { self / .seconds(1) }

    /// Seconds, to the hundredth: `2.04 s`.
    var secondsText: String {
        let hundredths = Int((seconds * 100).rounded())
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) s"
    }
}
