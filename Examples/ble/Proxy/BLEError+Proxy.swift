import BLEStreams

extension BLEError {
    /// What went wrong and what to do, for whoever runs the proxy: that goes on, its clients connect again by
    /// themselves, and how long they wait is not set here.
    var proxyText: String {
        var error = self
        error.remedy = remedy.replacing(LibraryPhrase.connectAgain.text + ".", with: "")
            .replacing(LibraryPhrase.moreTime.text, with: ".")
        return error.messageText
    }
}

/// Errors as the numbers that clients know: those of the specification, and those of an ESP32's Bluetooth stack.
extension BLEError {
    /// Why there is no connection.
    var connectionNumber: Int32 {
        if let reason { return reason.number }
        return switch code {
        case .timedOut: 0x08
        case .connectionFailed: 0x3E
        default: Self.unspecified
        }
    }

    /// Why an operation on an attribute failed.
    var attributeNumber: Int32 {
        if let attError { return Int32(attError.rawValue) }
        return switch code {
        case .disconnected: Self.notConnected
        case .busy: 0x84
        case .notFound, .servicesChanged: Int32(ATTError.invalidHandle.rawValue)
        default: Self.unspecified
        }
    }

    /// There is no connection.
    static let notConnected: Int32 = -1

    /// There is no room for another connection or another request.
    static let noResources: Int32 = 0x80

    private static let unspecified: Int32 = 0x85
}

extension DisconnectReason {
    /// The controller's reason, or the nearest one.
    var number: Int32 {
        if let hciStatus { return Int32(hciStatus) }
        return switch kind {
        case .supervisionTimeout: 0x08
        case .closedByPeer: 0x13
        case .closedLocally, .adapterOff: 0x16
        case .transactionTimeout: 0x22
        case .failedToEstablish: 0x3E
        case .authenticationFailed: 0x05
        case .keyMissing: 0x06
        case .protocolViolation, .other: 0
        }
    }
}
