package import BLEProtocol

extension BLEError {
    /// The program already answers the pairings that centrals begin with an adapter.
    package static func alreadyReceivingPairings(on adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "receive pairings",
            object: "on \(adapter)",
            cause: "this program already answers the pairings of centrals on this adapter",
            remedy: "Serve one peripheral on an adapter, or cancel the first reception."
        )
    }

    /// The adapter can't connect: its controller can't be central and peripheral at once, and is a peripheral now.
    package static func rolesExclude(adapter: String, centrals: [BluetoothAddress]) -> BLEError {
        let (word, verb) = centrals.count == 1 ? ("central", "is") : ("centrals", "are")
        return BLEError(
            .busy,
            operation: "connect",
            object: "from \(adapter)",
            cause: "\(adapter) can't be central and peripheral at once, and the \(word) "
                + "\(centrals.map(\.description).joined(separator: ", ")) \(verb) connected to it",
            remedy: "Disconnect that central with `ConnectedCentral.disconnect()`, or open the `Central` on another "
                + "adapter that supports both roles at once."
        )
    }

    /// The adapter can't advertise: its controller can't begin to beside a link that it has.
    package static func advertisementBesideLink(to peers: [BluetoothAddress], _ adapter: String) -> BLEError {
        let all = peers.map { "\($0)" }.sorted().joined(separator: ", ")
        return BLEError(
            .busy,
            operation: "advertise",
            object: adapter,
            cause: "\(adapter) is connected to \(all), and its controller can't start advertising meanwhile",
            remedy: "Disconnect from \(all) first, try again later as LocalPeripheral.resuming does, or advertise on "
                + "another adapter."
        )
    }
}
