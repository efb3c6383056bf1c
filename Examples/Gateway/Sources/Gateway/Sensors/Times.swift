import BLEStreams

extension Duration {
    /// Seconds, as a number with microseconds.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds / 1_000_000_000_000) / 1_000_000
    }
}

extension ReceptionTime {
    /// The members that say when something was received, and who says so.
    var members: [(String, JSONText)] {
        [("time", .plain(sinceEpoch.seconds)), ("timeSource", .string(source.rawValue))]
    }
}
