import BLEStreams
import Dispatch
import Foundation
import Glibc
import Testing

@testable import ble

/// How results leave.
@Suite(.timeLimit(.minutes(10))) struct OutputTests {
    /// What is written to a socket that keeps each write apart.
    private struct Writes {
        let output: Output
        private let descriptors: [Int32]

        init() throws {
            BrokenPipes.areErrors
            var pair: [Int32] = [0, 0]
            let status = socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &pair)
            try #require(status == 0)
            descriptors = pair
            output = Output(isJSON: true, to: pair[0])
        }

        /// What has been written so far, one text for each write.
        func all() -> [String] {
            var texts: [String] = []
            var octets = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = recv(descriptors[1], &octets, octets.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { return texts }
                texts.append(String(decoding: octets.prefix(count), as: UTF8.self))
            }
        }

        /// The next write, when it comes.
        func next() async -> String {
            let reader = descriptors[1]
            return await withCheckedContinuation { waiting in
                DispatchQueue.global().async {
                    var octets = [UInt8](repeating: 0, count: 65_536)
                    let count = recv(reader, &octets, octets.count, 0)
                    waiting.resume(returning: String(decoding: octets.prefix(max(0, count)), as: UTF8.self))
                }
            }
        }

        /// Writes a text where there is room for it.
        func fits(_ text: String) -> Bool {
            send(descriptors[0], text, text.utf8.count, Int32(MSG_DONTWAIT)) > 0
        }

        func close() { for descriptor in descriptors { Glibc.close(descriptor) } }
    }

    private func printed(
        _ options: [String] = [],
        _ start: @escaping @Sendable (BLEStream<Int>.Feed) -> Void
    ) async throws -> [String] {
        let writes = try Writes()
        defer { writes.close() }
        let limits = try StreamLimits("notify", Arguments(parsing: options, options: StreamLimits.options))
        try await withSimulatedEnvironment(printingTo: writes.output) { environment in
            let stream = BLEStream<Int>(buffer: .unbounded) { feed in
                start(feed)
                return {}
            }
            try await environment.printAll(stream, limits) { number in
                if number < 0 { return .remark("\(number) is below zero") }
                try environment.output.print(.number(number), "")
                return .value
            }
        }
        return writes.all()
    }

    @Test func `values that have come together leave in one write`() async throws {
        let writes = try await printed { feed in
            feed.send(contentsOf: 1...100)
            feed.finish()
        }
        #expect(writes == [(1...100).map { "\($0)\n" }.joined(), "{\"received\":100,\"dropped\":0}\n"])
    }

    @Test func `no more values are printed than were asked for`() async throws {
        let writes = try await printed(["--count", "3"]) { $0.send(contentsOf: 1...100) }
        #expect(writes == ["1\n2\n3\n", "{\"received\":3,\"dropped\":0}\n"])
    }

    @Test(arguments: [
        (2.04, "2.04 s"), (120, "120.00 s"), (0, "0.00 s"), (0.5, "0.50 s"), (0.05, "0.05 s"), (0.004, "0.004 s"),
        (0.001, "0.001 s"), (0.000_3, "0.0003 s"), (0.999, "1.00 s"), (1e-9, "0.000000001 s"),
    ])
    func `no time is told as none`(_ seconds: Double, _ text: String) {
        #expect(Duration.seconds(seconds).secondsText == text)
    }

    /// As supervision timeouts and intervals of links are: 1.14 s, not 1.1400000000000001.
    @Test func `programs get a time of whole milliseconds with three places`() {
        let longer = (0...60_000).filter { milliseconds in
            let (time, number) = (Duration.milliseconds(milliseconds), Double(milliseconds) / 1000)
            guard case .number(number, _) = DecodedValue(time) else { return true }
            return time.seconds != number
        }
        #expect(longer.isEmpty)
    }

    @Test func `what came before a remark leaves before it`() async throws {
        let writes = try await printed(["--count", "3"]) { $0.send(contentsOf: [1, 2, -1, 3, 4]) }
        #expect(writes == ["1\n2\n", "3\n", "{\"received\":3,\"dropped\":0}\n"])
    }

    @Test func `what was printed before a failure leaves, too`() async throws {
        let writes = try Writes()
        defer { writes.close() }
        await #expect(throws: CancellationError.self) {
            try await writes.output.together {
                try writes.output.print(.number(1))
                throw CancellationError()
            }
        }
        try writes.output.print(.number(2))
        #expect(writes.all() == ["1\n", "2\n"])
    }

    /// One thread, as a radio's.
    private final class OneThread: TaskExecutor {
        private let queue = DispatchQueue(label: "one thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test func `whoever doesn't read doesn't hold up the thread that reads the links`() async throws {
        let writes = try Writes()
        defer { writes.close() }
        let (thread, elsewhere) = (OneThread(), OneThread())
        // The reader's queue is full.
        while writes.fits(String(repeating: "x", count: 1000)) {}
        async let printing: Void = withTaskExecutorPreference(thread) {
            try await writes.output.together(waitingOn: elsewhere) {
                try writes.output.print(.string("late"))
            }
        }
        // This thread is free all the same.
        await withTaskExecutorPreference(thread) {}
        while await writes.next() != "\"late\"\n" {}
        try await printing
    }
}
