import BLEStreams

/// Tells the leases which peripherals this gateway hears, and how well.
struct Reception {
    /// The pause after a scan has failed, in seconds.
    private static let pause = 10

    let leases: LeaseDriver
    let report: @Sendable (String) -> Void

    /// Scans until the task is cancelled.
    func run(_ central: Central) async {
        let trouble = LastingError(report)
        while !Task.isCancelled {
            do {
                var hasBegun = false
                for try await discovery in central.scan(duplicates: true) {
                    if !hasBegun { trouble.end() }
                    hasBegun = true
                    leases.hear(discovery)
                }
            } catch is CancellationError {
                return
            } catch {
                trouble.tell("leases: \(gatewayWords(for: error))")
                try? await Task.sleep(for: .seconds(Self.pause))
            }
        }
    }
}
