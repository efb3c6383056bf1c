import BLEProtocol

extension BLEError {
    /// The peer would take a message for the rest of another one.
    static func followsPart(_ object: String, remedy: String) -> BLEError {
        var error = linkEnded(DisconnectReason(.closedLocally), operation: "send", object: object)
        error.cause =
            "an earlier message was cut off on this link, and the peer would take this one for its rest, so the link "
            + "was dropped"
        error.remedy = remedy
        return error
    }

    /// The same error where the central has a part of the message: what is sent on its link would be taken for the
    /// rest.
    var leavingPart: BLEError {
        var error = self
        error.isFinal = true
        if code == .busy {
            error.remedy =
                "The central may have a part of the message: drop the link with ConnectedCentral.disconnect(), and "
                + "send it again when the central has subscribed again."
        }
        return error
    }

    /// All of a message is queued, and its rest waits for a central that may never ask for anything.
    static func restWaits(_ object: String) -> BLEError {
        var error = BLEError(
            .busy,
            operation: "send",
            object: object,
            cause:
                "the services changed and nothing tells the central, which receives nothing until it notices: the rest "
                + "of the message waits for that",
            remedy:
                "Don't send it again on this link: the central gets the rest when it next asks for something. Or drop "
                + "the link with ConnectedCentral.disconnect(), and send it again when it has subscribed again."
        )
        error.isFinal = true
        return error
    }

    static func cannotSend(_ refusal: MessageCutter.Refusal, object: String) -> BLEError {
        let other = "Choose another end mark, or a length prefix: EndMark.lengthPrefix(octets:order:)."
        let (code, cause, remedy) =
            switch refusal {
            case .markTooLong(let octets, let limit):
                (
                    Code.overflow, "the end mark has \(octets) octets, and a chunk on this link at most \(limit)",
                    "Choose a shorter end mark."
                )
            case .looksLikeMark: (.invalidArgument, "part of the message would be taken for its end mark", other)
            case .containsMark(let place):
                (.invalidArgument, "the message contains its delimiter at octet \(place)", other)
            case .tooLong(let octets):
                (
                    .invalidArgument, "its length doesn't fit into \(octets) \(octets == 1 ? "octet" : "octets")",
                    "Use more octets for the length, or send the message in parts."
                )
            }
        return BLEError(code, operation: "send", object: object, cause: cause, remedy: remedy)
    }
}
