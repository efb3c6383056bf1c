import BLESimulator
import BLEStreams
import Testing

/// Each of the four sources as the standard library's own type, for code that wants that one.
@Suite(.timeLimit(.minutes(10))) struct AsyncThrowingStreamTests {
    @Test func `a scan`() async throws {
        try await Bench.run { bench in
            func first(of scan: AsyncThrowingStream<Discovery, any Error>) async throws -> Discovery? {
                for try await discovery in scan { return discovery }
                return nil
            }
            let found = try await first(of: bench.central.scan(for: .namePrefix("Ben")).asyncThrowingStream())
            #expect(found?.peripheral == bench.peripheral)
            // Leaving the loop ended the scan.
            try await bench.time.sleep(for: .seconds(1))
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `a peripheral's connection states`() async throws {
        try await Bench.run { bench in
            let states: AsyncThrowingStream<Peripheral.ConnectionState, any Error> =
                bench.peripheral.connectionStates.asyncThrowingStream()
            var seen: [Peripheral.ConnectionState] = []
            try await withThrowingTaskGroup { group in
                for try await state in states {
                    seen.append(state)
                    if seen.count == 1 { group.addTask { try await bench.peripheral.withLink { _ in } } }
                    if seen.count > 1, case .disconnected = state { break }
                }
                try await group.waitForAll()
            }
            #expect(seen.prefix(4) == [.disconnected(nil), .connecting, .connected, .disconnecting])
            #expect(seen.count == 5)
        }
    }

    @Test func `a characteristic's values`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.peripheral.withLink { link in
                let values: AsyncThrowingStream<CharacteristicValue, any Error> =
                    link.values(of: Bench.notifying).asyncThrowingStream()
                var seen: [[UInt8]] = []
                for try await value in values {
                    seen.append(Array(value))
                    if seen.count == 4 { break }
                }
                // What it has, then what it sends.
                let numbers = seen.dropFirst().map { UInt32(octets: $0) }
                #expect(seen.first == [0] && numbers.count == 3 && zip(numbers, numbers.dropFirst()).allSatisfy(<))
            }
        }
    }

    @Test func `notifications, until the link is lost`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(30)) { bench in
            bench.air.faults.add(.dropLink(after: 10, .notifications))
            try await bench.peripheral.withLink { link in
                let notifications: AsyncThrowingStream<CharacteristicValue, any Error> =
                    link.notifications(of: Bench.notifying).asyncThrowingStream()
                var count = 0
                let error = await bleError { for try await _ in notifications { count += 1 } }
                #expect(error?.code == .disconnected && count == 10)
            }
        }
    }

    @Test func `a task that is cancelled ends its stream, and what that had switched on`() async throws {
        try await Bench.run(serve: Bench.sendForEver) { bench in
            try await bench.peripheral.withLink { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await _ in link.notifications(of: Bench.notifying).asyncThrowingStream() {}
                    }
                    try await bench.time.sleep(for: .seconds(5))
                    group.cancelAll()
                    await #expect(throws: CancellationError.self) { try await group.next() }
                }
                // The CCCD is off again.
                try await bench.time.sleep(for: .seconds(1))
                #expect(bench.writes.last == [0, 0])
            }
        }
    }
}
