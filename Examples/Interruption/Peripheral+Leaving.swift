package import BLEStreams

extension Peripheral {
    /// Waits until the link to it is down, for five seconds at most: a stream that has ended, or was interrupted, leaves its
    /// link to close by itself, and a program that ends at once would cut that short.
    package func waitUntilLeft() async {
        let states = connectionStates.timeout(.seconds(5), for: .wholeStream)
        _ = try? await states.first { if case .disconnected = $0 { true } else { false } }
    }
}
