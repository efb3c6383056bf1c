import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// Commands under way while their adapter is removed, and is there again and on before the program has read that, on a
/// kernel in memory.
@Suite(.timeLimit(.minutes(10))) struct ReturnedCommandTests {
    /// What a program asks of an adapter.
    enum Work: CaseIterable {
        case pair, unpair, restore, outOfBandData, power

        fileprivate func begin(
            on radio: LinuxRadio,
            _ failed: @escaping @Sendable (BLEError) -> Void
        ) -> RadioActivity {
            @Sendable func tell<Value>(_ outcome: Result<Value, BLEError>) {
                if case .failure(let error) = outcome { failed(error) }
            }
            return switch self {
            case .pair: radio.pair(with: .example, asking: .justWorks) { tell($0) }
            case .unpair: radio.unpair(.example) { tell($0) }
            case .restore: radio.restore([]) { tell($0) }
            case .outOfBandData: radio.makeOutOfBandData { tell($0) }
            case .power: radio.setPowered(true) { tell($0) }
            }
        }
    }

    /// Begins it, and replugs the adapter after so many system calls.
    ///
    /// - Parameter calls: `nil`: the adapter is not replugged.
    /// - Returns: how many calls there were.
    private static func run(_ work: Work, replugging calls: Int?) async throws -> Int {
        let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })
        let kernel = run.kernel
        let radio = try run.radio()
        await kernel.idle()
        let before = kernel.with { $0.calls.values.reduce(0, +) }
        if let calls { kernel.with { $0.moments.append((calls, { kernel.replug(as: kernel.central) })) } }
        let failures = FakeRun.Collector<BLEError>()
        let activity = work.begin(on: radio) { failures.add($0) }
        _ = await kernel.run(run.timeline, within: .seconds(60)) { false }
        let after = kernel.with { $0.calls.values.reduce(0, +) }
        activity.cancel()
        for failure in failures.all {
            // No other program has it for itself.
            #expect(!failure.cause.contains("user channel"), "replugged \(calls ?? 0) calls on: \(failure)")
        }
        withExtendedLifetime(radio) {}
        return after - before
    }

    @Test(arguments: Work.allCases) func `another program is not said to have the adapter for itself`(
        _ work: Work
    ) async throws {
        let count = try await Self.run(work, replugging: nil)
        for calls in 1...count { _ = try await Self.run(work, replugging: calls) }
    }
}
