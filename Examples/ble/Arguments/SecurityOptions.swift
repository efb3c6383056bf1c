import BLEStreams

/// How secure a link must be, and who answers when it is paired.
struct SecurityOptions: Sendable {
    static let options =
        [
            Option("secure", value: "LEVEL", help: "first make the link encrypted, authenticated or secureConnections")
        ] + answers

    /// Who answers.
    static let answers = [
        Option(
            "passkey",
            value: "DIGITS",
            help: "the passkey that the device shows or has printed on it",
            isSecret: true
        ),
        .outOfBand,
        Option("just-works", help: "pair without questions, even at a terminal"),
        PairingClaim.option,
    ]

    static let notes = """
        If a device requires more security than the link has, this command pairs with it: at a terminal, where it asks
        the device's questions, or with --passkey, --oob or --just-works. A bond that the device has lost is an error.
        """

    /// The level that the link must have before anything else; `nil`: whatever the device requires.
    let level: LinkSecurity.Level?
    private let passkey: UInt32?
    private let outOfBand: OutOfBandData?
    private let isJustWorks: Bool
    private let claim: PairingClaim?

    init(_ arguments: Arguments) throws(UsageError) {
        level = try Self.level(arguments)
        isJustWorks = arguments.has("just-works")
        passkey = try Self.passkey(arguments)
        outOfBand = try arguments.outOfBandData()
        claim = try PairingClaim.made(in: arguments, excluding: ["passkey", "just-works", "oob"])
        guard outOfBand != nil else { return }
        if passkey != nil { throw UsageError("--oob and --passkey exclude each other") }
        if isJustWorks { throw UsageError("--oob and --just-works exclude each other") }
    }

    private static func level(_ arguments: Arguments) throws(UsageError) -> LinkSecurity.Level? {
        guard let text = arguments.last("secure") else { return nil }
        guard let level = LinkSecurity.Level(rawValue: text) else {
            let levels = LinkSecurity.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError("--secure '\(text)': the levels are \(levels)")
        }
        return level
    }

    /// The given passkey; an error doesn't repeat it.
    private static func passkey(_ arguments: Arguments) throws(UsageError) -> UInt32? {
        guard let text = arguments.last("passkey") else { return nil }
        guard !arguments.has("just-works") else { throw UsageError("--passkey and --just-works exclude each other") }
        guard let passkey = UInt32(passkey: text) else { throw UsageError("--passkey: a passkey has six digits") }
        return passkey
    }

    /// Whether one of them says who answers the device's questions.
    var sayWhoAnswers: Bool { passkey != nil || outOfBand != nil || isJustWorks || claim != nil }

    /// Who answers the device's questions; `nil`: nobody.
    func answers(about device: String) -> PairingAnswers? {
        if let passkey { return .passkey(passkey) }
        if let outOfBand { return .outOfBand(outOfBand) }
        if isJustWorks { return PairingAnswers() }
        return Terminal.standard?.pairingAnswers(about: device, claiming: claim)
    }
}
