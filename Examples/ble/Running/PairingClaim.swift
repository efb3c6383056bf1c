import BLEStreams

/// The capability that `ble` claims while it pairs, if that is to be less than a terminal has.
enum PairingClaim: String, CaseIterable, Sendable {
    /// It can show six digits.
    case display
    /// It can show six digits, and ask for yes or no.
    case yesNo = "yes-no"
    /// A person can enter digits.
    case keyboard

    static let option = Option(
        "claim",
        value: "C",
        help: "at a terminal, claim only this capability: display, yes-no or keyboard"
    )

    /// The claim that the option makes, which excludes other options; `nil` if there is none.
    static func made(in arguments: Arguments, excluding others: [String]) throws(UsageError) -> PairingClaim? {
        guard let text = arguments.last("claim") else { return nil }
        guard let claim = PairingClaim(rawValue: text) else {
            let names = allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--claim '\(text)': the capabilities are \(names)")
        }
        if let other = others.first(where: { arguments.has($0) }) {
            throw UsageError("--claim and --\(other) exclude each other")
        }
        guard Terminal.standard != nil else { throw UsageError("--claim \(text): this requires a terminal") }
        return claim
    }
}
