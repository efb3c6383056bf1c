import BLEStreams

extension Duration {
    /// Seconds, as a number with microseconds: the one nearest to that decimal.
    var seconds: Double {
        let (whole, rest) = components
        return (Double(whole) * 1e6 + Double(rest / 1_000_000_000_000)) / 1e6
    }
}

extension ReceptionTime {
    /// The members that say when something was received, and who says so.
    var members: [(String, JSONText)] {
        [("time", .plain(sinceEpoch.seconds)), ("timeSource", .string(source.rawValue))]
    }
}
