import BLESimulator
import BLEStreams

extension Central {
    /// Runs a body beside a scan for everything, which has begun a second before, and the troubles that are told
    /// meanwhile.
    func whileScanning(
        _ time: VirtualTime,
        _ body: @Sendable (Recorder<String>) async throws -> Void
    ) async throws {
        let troubles = Recorder<String>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await trouble in self.adapterTroubles { troubles.add("\(trouble)") }
            }
            group.addTask { for try await _ in self.scan(duplicates: true) {} }
            try await time.sleep(for: .seconds(1))
            try await body(troubles)
            group.cancelAll()
        }
    }
}
