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
