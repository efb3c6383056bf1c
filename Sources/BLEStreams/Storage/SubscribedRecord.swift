import BLEProtocol

/// A characteristic whose values a bonded peer sends from the start of the next link, as stored in its file: it was
/// subscribed to when the last link was lost.
struct SubscribedRecord: Codable, Equatable, Sendable {
    var uuid: String
    var valueHandle: UInt16
}

extension SubscribedRecord {
    init(_ kept: LinkMachine.KeptSubscription) {
        uuid = kept.uuid.description
        valueHandle = kept.valueHandle
    }

    /// `nil` if the file has no valid UUID.
    var kept: LinkMachine.KeptSubscription? {
        BluetoothUUID(uuid).map { LinkMachine.KeptSubscription(uuid: $0, valueHandle: valueHandle) }
    }
}
