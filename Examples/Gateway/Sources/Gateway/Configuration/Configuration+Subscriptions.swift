import BLEStreams

extension Configuration.Peripheral {
    /// Checks that each characteristic is there once.
    ///
    /// - Parameter list: the field that has them.
    static func checkOnce(
        _ subscriptions: [Configuration.Subscription],
        _ list: String
    ) throws(ConfigurationError) {
        for (index, subscription) in subscriptions.enumerated() {
            guard let former = subscriptions[..<index].firstIndex(where: { subscription.mayBe($0) }) else { continue }
            let isSame = subscriptions[former] == subscription
            let what =
                isSame
                ? "it repeats characteristics[\(former)]"
                : "characteristics[\(former)] may be the same one, since one of the two has no 'service'"
            throw ConfigurationError(
                field: "\(list)[\(index)].uuid",
                cause: "\(what), and each of its values would be published twice",
                remedy: isSame ? "Write each characteristic once." : "Write it once, or the service of both."
            )
        }
    }
}

extension Configuration.Subscription {
    /// Whether it may name the same characteristic as another one: without a service, the first of the type is meant,
    /// whichever service that is in.
    fileprivate func mayBe(_ other: Configuration.Subscription) -> Bool {
        guard characteristic == other.characteristic else { return false }
        return service == nil || other.service == nil || service == other.service
    }
}

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
