/// How two devices protect their pairing against a man in the middle.
///
/// Source: Core Specification, Vol 3, Part H, 2.3.5.1, table 2.8.
package enum PairingMethod: Hashable, Sendable {
    /// Without protection.
    case justWorks
    /// The responder shows a passkey, which is entered on the initiator.
    case initiatorEnters
    /// The initiator shows a passkey, which is entered on the responder.
    case responderEnters
    /// The user chooses a passkey and enters it on both.
    case bothEnter
    /// Both show a number, and the user confirms that they are equal. LE Secure Connections only.
    case comparison

    /// The method that follows from the two capabilities if one device asks for protection.
    package init(
        initiator: PairingCapability,
        responder: PairingCapability,
        isSecureConnections: Bool
    ) {
        self =
            switch (initiator, responder) {
            case (.noInputNoOutput, _), (_, .noInputNoOutput), (.displayOnly, .displayOnly),
                (.displayOnly, .displayYesNo), (.displayYesNo, .displayOnly):
                .justWorks
            case (.displayYesNo, .displayYesNo): isSecureConnections ? .comparison : .justWorks
            case (.displayYesNo, .keyboardDisplay), (.keyboardDisplay, .displayYesNo),
                (.keyboardDisplay, .keyboardDisplay):
                if isSecureConnections {
                    .comparison
                } else if responder == .displayYesNo {
                    .initiatorEnters
                } else {
                    .responderEnters
                }
            case (.keyboardOnly, .keyboardOnly): .bothEnter
            case (.keyboardOnly, _), (.keyboardDisplay, .displayOnly): .initiatorEnters
            case (_, .keyboardOnly), (.displayOnly, .keyboardDisplay): .responderEnters
            }
    }
}
