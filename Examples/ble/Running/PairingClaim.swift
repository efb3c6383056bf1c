import BLEStreams

/// What `ble` claims to be able to do while it pairs, where that is to be less than a terminal can.
enum PairingClaim: String, CaseIterable, Sendable {
    /// It can show six digits.
    case display
    /// It can show six digits, and take yes or no.
    case yesNo = "yes-no"
    /// Digits can be entered.
    case keyboard

    static let option = Option(
        "claim",
        value: "C",
        help: "at a terminal, claim only this capability: display, yes-no or keyboard"
    )

    /// The claim that was made with the option, which others exclude; `nil` where there is none.
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
