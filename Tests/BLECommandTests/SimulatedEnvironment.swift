import BLESimulator
import BLEStreams
import Interruption
import Testing

@testable import ble

/// Runs a body as a command runs, with an adapter that hears nobody, in virtual time.
func withSimulatedEnvironment(
    printingTo output: Output,
    _ body: @escaping @Sendable (CommandEnvironment) async throws -> Void
) async throws {
    try await VirtualTime.run { time in
        try await withEnvironment(on: .radio(SimulatedAir(time).adapter()), printingTo: output, body)
    }
}

/// Runs a body as a command runs, with a radio.
func withEnvironment(
    on adapter: AdapterChoice,
    printingTo output: Output,
    _ body: @escaping @Sendable (CommandEnvironment) async throws -> Void
) async throws {
    try await Central.with(adapter) { central in
        try await body(
            CommandEnvironment(
                central: central,
                adapter: adapter,
                store: nil,
                output: output,
                log: Log(isVerbose: false),
                signals: TerminationSignals(),
                hasChosenAdapter: false,
                isFresh: false
            )
        )
    }
}

/// How long a body takes to fail that runs as a command runs, with an adapter that hears nobody, in virtual time.
func timeToFail(
    _ body: @escaping @Sendable (CommandEnvironment) async throws -> Void
) async throws -> Duration {
    try await VirtualTime.run { time in
        let air = SimulatedAir(time)
        try await withEnvironment(on: .radio(air.adapter()), printingTo: .nowhere) { environment in
            _ = await #expect(throws: BLEError.self) { try await body(environment) }
        }
        return time.now
    }
}
