import BLEProtocol
import BLERadio
import BLEStreams
import Synchronization

/// Lets the runs of a flow work on a device one after the other. Exclusive use of a link isn't enough for that: a run
/// that has lost its link may still work on what has come, while another one has the next link.
///
/// Copies of a flow share it. It holds only the devices with a run.
final class FlowTurns: Sendable {
    private let turns = Mutex<[BluetoothAddress: Ending<Void>]>([:])

    /// Runs the closure once no other run works on the device.
    ///
    /// - Throws: what the closure throws; `CancellationError`.
    func alone<Output>(
        with device: BluetoothAddress,
        in context: CommandContext,
        _ body: () async throws -> Output
    ) async throws -> Output {
        let own = Ending<Void>()
        while let other = begin(own, device) { try await context.wait(forOtherRun: other) }
        defer {
            turns.withLock { $0[device] = nil }
            own.end()
        }
        return try await body()
    }

    /// Takes the turn, or returns the one that another run has.
    private func begin(_ own: Ending<Void>, _ device: BluetoothAddress) -> Ending<Void>? {
        turns.withLock { turns in
            if let other = turns[device] { return other }
            turns[device] = own
            return nil
        }
    }
}
