import BLERadio
import Testing

/// Core Specification, Vol 3, Part H, table 2.8.
@Suite struct PairingMethodTests {
    private static let all: [PairingCapability] = [
        .displayOnly, .displayYesNo, .keyboardOnly, .noInputNoOutput, .keyboardDisplay,
    ]

    /// A row for each responder, a column for each initiator: J Just Works, I the initiator enters, R the responder
    /// enters, B both enter, C comparison.
    private static let legacy = ["JJIJI", "JJIJI", "RRBJR", "JJJJJ", "RRIJR"]
    private static let secure = ["JJIJI", "JCIJC", "RRBJR", "JJJJJ", "RCIJC"]

    @Test(arguments: [(false, legacy), (true, secure)])
    func `it is the specification's table`(_ isSecureConnections: Bool, _ table: [String]) {
        for (responder, row) in zip(Self.all, table) {
            for (initiator, letter) in zip(Self.all, row) {
                let method = PairingMethod(
                    initiator: initiator,
                    responder: responder,
                    isSecureConnections: isSecureConnections
                )
                let expected: PairingMethod =
                    switch letter {
                    case "I": .initiatorEnters
                    case "R": .responderEnters
                    case "B": .bothEnter
                    case "C": .comparison
                    default: .justWorks
                    }
                #expect(method == expected, "\(initiator) with \(responder)")
            }
        }
    }
}
