import BLEProtocol

/// What must hold of an event, whatever the kernel says: a key is written as it was read, and is not shown.
enum ManagementEventCheck {
    static func check(_ event: ManagementEvent) throws {
        switch event {
        case .newLongTermKey(let new): try check(new.key)
        case .newIdentityResolvingKey(let new): try check(new.key)
        case .newSignatureResolvingKey(let new): try isHidden(new.key.value, in: "\(new)")
        case .deviceDisconnected(let address, let reason): _ = (address.description, reason.kind.words)
        case .userConfirmationRequest(let request):
            try require(Mirror(reflecting: request).children.count == 1, "the number to compare is shown")
        case .passkeyNotify(let passkey):
            try require(Mirror(reflecting: passkey).children.count == 2, "the passkey is shown")
        case .deviceAdded(let address, action: _), .deviceRemoved(let address), .deviceUnpaired(let address):
            let again = address.lowEnergy.map { ManagementAddress($0) }
            try require(again == nil || again == address, "\(address) is written as another one")
        case .phyConfigurationChanged(let phys):
            let lowEnergy = phys.intersection(.lowEnergy)
            try require(ManagementPHYs(phys.selection) == lowEnergy, "PHYs \(phys.rawValue) are written otherwise")
        case .unknown(_, let parameters):
            try require(Mirror(reflecting: parameters).children.isEmpty, "the parameters of an unknown event are shown")
        default: break
        }
    }

    private static func check(_ key: ManagementLongTermKey) throws {
        try isHidden(key.value, in: "\(key)")
        let again = ManagementLongTermKey(
            address: key.address,
            kind: key.kind,
            initiator: key.initiator,
            size: key.size,
            diversifier: key.diversifier,
            random: key.random,
            value: key.value
        )
        let octets = ManagementLoadLongTermKeys([again]).packet(index: .none).parameters.dropFirst(2)
        let read = try event(.newLongTermKey, [1] + octets)
        guard case .newLongTermKey(let new) = read, new.key == key else {
            throw FuzzFinding(description: "a key of \(key.address) is written otherwise than it came")
        }
    }

    private static func check(_ key: ManagementIdentityResolvingKey) throws {
        try isHidden(key.value, in: "\(key)")
        let again = ManagementIdentityResolvingKey(address: key.address, value: key.value)
        let octets = ManagementLoadIdentityResolvingKeys([again]).packet(index: .none).parameters.dropFirst(2)
        // The store hint and the private address stand before it.
        let read = try event(.newIdentityResolvingKey, [1, 0, 0, 0, 0, 0, 0] + octets)
        guard case .newIdentityResolvingKey(let new) = read, new.key == key else {
            throw FuzzFinding(description: "an identity key of \(key.address) is written otherwise than it came")
        }
    }

    private static func event(_ code: ManagementEventCode, _ octets: [UInt8]) throws -> ManagementEvent {
        try ManagementEvent(decoding: ManagementPacket(code: code.rawValue, index: .none, parameters: octets[...]))
    }

    private static func isHidden(_ key: SecretKey, in text: String) throws {
        try require(text.contains("\(key)") && Mirror(reflecting: key).children.isEmpty, "a key is shown: \(text)")
    }
}
