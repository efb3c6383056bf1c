public import BLEStreams
public import ServiceLifecycle

/// A central as a service of a `ServiceGroup`: a graceful shutdown cancels its closure, and its links are down before
/// the next service ends.
public struct CentralService: Service {
    private let adapter: AdapterChoice
    private let patience: Duration?
    private let body: @Sendable (Central) async throws -> Void

    /// - Parameter patience: how long to wait until the adapter is on, which may be later than the program starts;
    ///   `nil`: for as long as it takes.
    public init(
        on adapter: AdapterChoice = .default,
        waitingFor patience: Duration? = nil,
        _ body: @escaping @Sendable (Central) async throws -> Void
    ) {
        self.adapter = adapter
        self.patience = patience
        self.body = body
    }

    public func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await Central.with(adapter, waitingFor: patience) { try await body($0) }
            }
        } catch is CancellationError {
            // The graceful shutdown cancels it: this is its normal end.
        }
    }
}
