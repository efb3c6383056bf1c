import BLEStreams

/// A characteristic, as values of it are named where they are published.
struct PublishedCharacteristic: Hashable, Sendable {
    /// Its type.
    var uuid: BluetoothUUID
    /// Its service, if values of the same type of another one are published, too.
    var service: BluetoothUUID?

    /// Its name in topics: `2A6E`, `2A6E-181A`.
    var topic: String { service.map { "\(uuid)-\($0)" } ?? "\(uuid)" }

    /// What people call it, from the service on: `Temperature`; `Environmental Sensing`, `Temperature`.
    var words: [String] { [service, uuid].compactMap(\.self).map { $0.name ?? "\($0)" } }
}

extension Configuration.Peripheral {
    /// How the characteristic of a subscription is named.
    func characteristic(of subscription: Configuration.Subscription) -> PublishedCharacteristic {
        let uuid = subscription.characteristic
        let count = subscriptions.count { $0.characteristic == uuid }
        return PublishedCharacteristic(uuid: uuid, service: count > 1 ? subscription.service : nil)
    }

    /// All that are subscribed to.
    var characteristics: [PublishedCharacteristic] { subscriptions.map { characteristic(of: $0) } }
}
