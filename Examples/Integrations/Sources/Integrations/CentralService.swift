public import BLEStreams
public import ServiceLifecycle

/// A central as a service of a `ServiceGroup`: a graceful shutdown cancels its closure, and its links are down before
/// the next service ends.
public struct CentralService: Service {
    private let adapter: AdapterChoice
    private let body: @Sendable (Central) async throws -> Void

    public init(on adapter: AdapterChoice = .default, _ body: @escaping @Sendable (Central) async throws -> Void) {
        self.adapter = adapter
        self.body = body
    }

    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await Central.with(adapter) { try await body($0) } }
        } catch is CancellationError {
            // The graceful shutdown cancels it: this is its normal end.
        }
    }
}
