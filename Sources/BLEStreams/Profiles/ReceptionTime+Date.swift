public import BLEProtocol
public import FoundationEssentials

extension ReceptionTime {
    /// The time as a `Date`; to somewhat less than a microsecond, which is what a `Date` can tell apart.
    public var date: Date {
        let (seconds, attoseconds) = sinceEpoch.components
        return Date(timeIntervalSince1970: Double(seconds) + Double(attoseconds) / 1e18)
    }
}
