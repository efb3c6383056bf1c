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
