public import BLEProtocol
public import FoundationEssentials

extension ReceptionTime {
    /// The time as a `Date`, to just under a microsecond, which is the resolution of a `Date`.
    public var date: Date {
        let (seconds, attoseconds) = sinceEpoch.components
        return Date(timeIntervalSince1970: Double(seconds) + Double(attoseconds) / 1e18)
    }
}
