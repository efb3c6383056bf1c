import BLEStreams
import Glibc
import Testing

@testable import ble

/// What becomes of a command whose results can't be written.
@Suite(.timeLimit(.minutes(10))) struct OutputFailureTests {
    /// Prints the values of a stream that has none, and ends like this.
    ///
    /// - Parameter options: the limits of the stream.
    private func printAll(endingWith failure: (any Error)?, to sink: Sink, _ options: String...) async throws {
        let descriptor = try sink.open()
        defer { close(descriptor) }
        let limits = try StreamLimits("notify", Arguments(parsing: options, options: StreamLimits.options))
        try await withSimulatedEnvironment(printingTo: Output(isJSON: true, to: descriptor)) { environment in
            let stream = BLEStream<Int>(buffer: .unbounded) { feed in
                if let failure { feed.finish(throwing: failure) } else { feed.finish() }
                return {}
            }
            try await environment.printAll(stream, limits) { _ in .value }
        }
    }

    @Test(arguments: Sink.allCases)
    func `counts that can't be written don't hide why a stream ended`(_ sink: Sink) async {
        let failure = BLEError(.disconnected, operation: "notifications", cause: "the link ended")
        let thrown = await #expect(throws: BLEError.self) { try await printAll(endingWith: failure, to: sink) }
        #expect(thrown?.code == .disconnected)
        await #expect(throws: CancellationError.self) {
            try await printAll(endingWith: CancellationError(), to: sink)
        }
    }

    @Test(arguments: Sink.allCases)
    func `a count that can't be written doesn't hide that too few values have come`(_ sink: Sink) async {
        let thrown = await #expect(throws: BLEError.self) {
            try await printAll(endingWith: nil, to: sink, "--count", "2", "--timeout", "60")
        }
        #expect(thrown?.code == .timedOut && thrown?.systemError == nil)
    }

    @Test(
        arguments: [
            (["verify", Demo.trouble, "--simulated", "--timeout", "2"], 1),
            (["verify", Demo.trouble, "--simulated", "--timeout", "2", "--json"], 1),
            (["verify", Demo.heartRate, "--simulated"], 0),
            (["doctor", "--adapter", "hci999"], 1),
            (["notify", Demo.absent, Demo.measurement, "--simulated", "--timeout", "0.3", "--json"], 1),
        ] as [([String], Int32)]
    )
    func `what was found shows in the status, though nobody reads it`(
        _ arguments: [String],
        _ status: Int32
    ) async throws {
        let sink = try Sink.unread.open()
        defer { close(sink) }
        let child = try Child(CommandRun.program, arguments, sink: sink)
        let errors = await LineReader(child.errors).rest()
        #expect(await Child.exitStatus(of: child.process) == status, "\(errors)")
        close(child.output)
    }

    @Test func `a tree that nobody reads doesn't hide what went wrong`() async throws {
        let sink = try Sink.unread.open()
        defer { close(sink) }
        let child = try Child(CommandRun.program, ["info", Demo.trouble, "--simulated"], sink: sink)
        #expect(await LineReader(child.errors).rest().joined().contains("timed out"))
        #expect(await Child.exitStatus(of: child.process) == 1)
        close(child.output)
    }

    /// Shows a part of an update, and its end.
    private func showUpdate(on sink: Sink) throws {
        let descriptor = try sink.open()
        defer { close(descriptor) }
        let progress = UpdateProgress(Output(isJSON: true, to: descriptor), Log(isVerbose: false))
        progress.show(CommandProgress(phase: "upload", completed: 1, total: 2))
        try progress.complete(2)
    }

    @Test func `an update whose lines a full disk has lost ends as a failure`() throws {
        let thrown = #expect(throws: BLEError.self) { try showUpdate(on: .full) }
        #expect(thrown?.systemError == ENOSPC)
    }

    @Test func `an update that nobody reads any more says so`() {
        #expect(throws: OutputClosed.self) { try showUpdate(on: .unread) }
    }
}
