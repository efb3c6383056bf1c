internal import BLEProtocol

// Why an advertisement is not on air.
extension BLEError {
    static func advertisingIsOver(_ adapter: String) -> BLEError {
        BLEError(
            .ended,
            operation: "advertise",
            object: adapter,
            cause: "it no longer advertises",
            remedy: "Start advertising again."
        )
    }

    static func noFreeInstance(_ maximum: UInt8, _ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "advertise",
            object: adapter,
            cause: "all \(maximum) advertisements of \(adapter) are in use",
            remedy: "End another program's advertisement, or remove all with "
                + "\"sudo btmgmt --index \(adapter) clr-adv\"."
        )
    }

    static func advertisementBesideLink(to peers: [BluetoothAddress], _ adapter: String) -> BLEError {
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

    static func advertisementTakenAway(_ times: Int, _ adapter: String) -> BLEError {
        BLEError(
            .busy,
            operation: "advertise",
            object: adapter,
            cause: "another program removes the advertisement from \(adapter) again and again; it was put back "
                + "\(times) times",
            remedy: "Find out with \"sudo btmon\" which program removes it, and end it or give it another adapter."
        )
    }
}
