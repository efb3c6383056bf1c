import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct ExclusiveTests {
    static let read: UInt8 = 0x0A
    static let write: UInt8 = 0x12

    @Test func `operations of others wait until the holder is done`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.clearTrace()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    try await link.exclusively { own in
                        try await own.write([1], to: Bench.readable)
                        group.addTask { _ = try await link.read(Bench.readOnly) }
                        try await bench.time.sleep(for: .seconds(1))
                        for value in UInt8(2)...4 { try await own.write([value], to: Bench.readable) }
                    }
                    try await group.waitForAll()
                }
                let opcodes = bench.sent(by: .central).map { $0[0] }
                #expect(opcodes == [Self.write, Self.write, Self.write, Self.write, Self.read])
            }
        }
    }

    @Test(arguments: [true, false]) func `a write without response waits for the holder too`(byType: Bool) async throws
    {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let handle = try #require(try await link.discover().characteristic(Bench.readable)).valueHandle
                bench.air.clearTrace()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    try await link.exclusively { own in
                        try await own.write([1], to: Bench.readable)
                        group.addTask {
                            if byType {
                                try await link.write([9], to: Bench.readable, .withoutResponse)
                            } else {
                                try await link.write([9], to: .handle(handle), .withoutResponse)
                            }
                        }
                        try await bench.time.sleep(for: .seconds(1))
                        try await own.write([2], to: Bench.readable)
                    }
                    try await group.waitForAll()
                }
                try await link.expect(Bench.readable, reads: [9])
                let opcodes = bench.sent(by: .central).map { $0[0] }
                #expect(opcodes == [Self.write, Self.write, 0x52, Self.read])
            }
        }
    }

    @Test func `a holder begins when what is under way is done, also what was cancelled`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.faults.add(.delay(.readResponses, by: .seconds(5)).times(1))
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { _ = try? await link.read(Bench.readable) }
                    try await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                    try await group.waitForAll()
                }
                let before = bench.time.now
                try await link.exclusively { own in
                    // A command without response would overtake the answer that is still due.
                    #expect(bench.time.now - before > .seconds(3))
                    try await own.write([9], to: Bench.readable, .withoutResponse)
                }
            }
        }
    }

    @Test func `streams of others are switched on and off when the holder is done`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(3)) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.clearTrace()
                try await withThrowingTaskGroup(of: Int.self) { group in
                    try await link.exclusively { own in
                        group.addTask { try await link.notifications(of: Bench.notifying).collect(3).count }
                        try await bench.time.sleep(for: .seconds(1))
                        try await own.write([1], to: Bench.readable)
                        #expect(bench.sent(by: .central).count == 1)
                    }
                    let count = try await group.next()
                    #expect(count == 3)
                }
                // The first one's own subscription is one of two PDUs: on, off.
                try await link.expect(Bench.readOnly, reads: [7])
                #expect(bench.sent(by: .central).map { $0[0] } == [Self.write, Self.write, Self.write, Self.read])
            }
        }
    }

    @Test func `the holder's own streams pass, and are off before others go on`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(100)) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.clearTrace()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    try await link.exclusively { own in
                        group.addTask { _ = try await link.read(Bench.readOnly) }
                        let values = try await own.notifications(of: Bench.notifying).collect(5)
                        #expect(values.count == 5)
                    }
                    try await group.waitForAll()
                }
                #expect(bench.sent(by: .central).map { $0[0] } == [Self.write, Self.write, Self.read])
            }
        }
    }

    @Test func `who is cancelled while waiting leaves at once, and the next one goes on`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                try await link.exclusively { own in
                    let before = bench.time.now
                    await withTaskGroup(of: Void.self) { group in
                        group.addTask {
                            await #expect(throws: CancellationError.self) { try await link.read(Bench.readable) }
                        }
                        group.addTask {
                            await #expect(throws: CancellationError.self) { try await link.exclusively { _ in } }
                        }
                        group.addTask {
                            await #expect(throws: CancellationError.self) {
                                for try await _ in link.notifications(of: Bench.notifying) {}
                            }
                        }
                        try? await bench.time.sleep(for: .seconds(1))
                        group.cancelAll()
                    }
                    #expect(bench.time.now - before < .milliseconds(1100))
                    try await own.expect(Bench.readable, reads: [1, 2, 3])
                }
                try await link.expect(Bench.readOnly, reads: [7])
            }
        }
    }

    @Test func `the lost link ends the waiting of others`() async throws {
        try await Bench.run { bench in
            _ = try? await bench.peripheral.withLink { link in
                _ = try await link.discover()
                await withTaskGroup(of: BLEError?.self) { group in
                    try? await link.exclusively { own in
                        group.addTask { await bleError { _ = try await link.read(Bench.readable) } }
                        try await bench.time.sleep(for: .seconds(1))
                        bench.air.faults.add(.dropLink(insteadOf: .readRequests))
                        _ = try? await own.read(Bench.readable)
                        // The holder does something else, and doesn't keep the others from hearing of it.
                        let error = await group.next() ?? nil
                        #expect(error?.code == .disconnected)
                    }
                }
            }
        }
    }

    @Test func `a limit that passes behind a holder blames the holder, not the peripheral`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.clearTrace()
                try await withThrowingTaskGroup(of: BLEError?.self) { group in
                    try await link.exclusively { own in
                        group.addTask {
                            await bleError { _ = try await link.read(Bench.readOnly, timeout: .seconds(3)) }
                        }
                        try await bench.time.sleep(for: .seconds(5))
                        try await own.write([1], to: Bench.readable)
                    }
                    let error = try await group.next() ?? nil
                    #expect(error?.code == .timedOut && error?.operation == "read" && error?.elapsed == .seconds(3))
                    #expect(error?.cause.contains("exclusive use of the link") == true, "\(error as Any)")
                    #expect(error?.remedy.contains("in range") == false, "\(error as Any)")
                }
                #expect(!bench.sent(by: .central).contains { $0[0] == Self.read })
            }
        }
    }

    @Test func `who uses the wrong handle is told, and doesn't wait for itself`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                try await link.exclusively { own in
                    #expect(await bleError { _ = try await link.read(Bench.readable) }?.code == .deadlock)
                    #expect(await bleError { try await link.exclusively { _ in } }?.code == .deadlock)
                    let error = await bleError { for try await _ in link.notifications(of: Bench.notifying) {} }
                    #expect(error?.code == .deadlock)
                    // Held already: a helper may hold the link for itself too.
                    try await own.exclusively { try await $0.expect(Bench.readable, reads: [1, 2, 3]) }
                }
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
        }
    }

    @Test func `a handle of a hold that is over is one of many`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let former = try await link.exclusively { $0 }
                try await former.expect(Bench.readable, reads: [1, 2, 3])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    try await link.exclusively { own in
                        group.addTask { try await former.expect(Bench.readable, reads: [8]) }
                        try await bench.time.sleep(for: .seconds(1))
                        try await own.write([8], to: Bench.readable)
                    }
                    try await group.waitForAll()
                }
            }
        }
    }
}
