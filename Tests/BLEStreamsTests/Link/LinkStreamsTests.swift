import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct LinkStreamsTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `a thousand notifications arrive in order and whole`(seed: UInt64) async throws {
        try await Bench.run(seed: seed, serve: Bench.sendNumbers(1000)) { bench in
            try await bench.peripheral.withLink { link in
                let numbers = try await link.notifications(of: Bench.notifying).map { UInt32(octets: $0) }.collect(1000)
                #expect(numbers == Array(0..<1000))
            }
        }
    }

    @Test func `what is notified before the answer to the subscription is not lost`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(20)) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.faults.add(.hold(.writeResponses, behind: 5))
                let numbers = try await link.notifications(of: Bench.notifying).map { UInt32(octets: $0) }.collect(20)
                #expect(numbers == Array(0..<20))
                let opcodes = bench.sent(by: .peripheral).compactMap(\.first).drop { $0 != 0x1B }
                #expect(opcodes.prefix(6).elementsEqual([0x1B, 0x1B, 0x1B, 0x1B, 0x1B, 0x13]))
            }
        }
    }

    @Test func `leaving a loop switches notifications off before the next request`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(50)) { bench in
            try await bench.peripheral.withLink { link in
                for try await value in link.notifications(of: Bench.notifying) where UInt32(octets: value) == 3 {
                    break
                }
                _ = try await link.read(Bench.readable)
                #expect(bench.writes == [[1, 0], [0, 0]])
            }
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test(arguments: [true, false])
    func `throwing from a loop and cancelling its task leave the radio clean`(cancels: Bool) async throws {
        struct Mine: Error {}
        try await Bench.run(serve: Bench.sendNumbers(50)) { bench in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    do {
                        try await bench.peripheral.withLink { link in
                            for try await value in link.notifications(of: Bench.notifying) {
                                if !cancels, UInt32(octets: value) == 3 { throw Mine() }
                            }
                        }
                        Issue.record("the loop ended by itself")
                    } catch {
                        #expect(cancels ? error is CancellationError : error is Mine)
                    }
                }
                if cancels {
                    try? await bench.time.sleep(for: .seconds(5))
                    group.cancelAll()
                }
            }
            let last = bench.sent(by: .central).last { $0.first == 0x12 }
            #expect(last?.suffix(2) == [0, 0])
            #expect(bench.centralAdapter.activity.isIdle)
        }
    }

    @Test func `two consumers share one subscription`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(100)) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                let numbers = link.notifications(of: Bench.notifying).map { UInt32(octets: $0) }
                async let first = numbers.collect(10)
                async let second = numbers.collect(10)
                let counts = try await (first.count, second.count)
                #expect([counts.0, counts.1] == [10, 10])
                _ = try await link.read(Bench.readable)
                #expect(bench.writes == [[1, 0], [0, 0]])
            }
        }
    }

    @Test func `indications are confirmed and waited for`() async throws {
        try await Bench.run { server, bench in
            for try await change in server.subscriptions(of: Bench.indicating) where change.isSubscribed {
                #expect(change.kind == .indicate)
                for number in 0..<3 {
                    try await server.indicate([UInt8(number)], of: Bench.indicating, to: change.central)
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let values = try await link.notifications(of: Bench.indicating).collect(3)
                #expect(values.map(Array.init) == [[0], [1], [2]])
                #expect(!values.contains { !$0.isIndication })
                _ = try await link.read(Bench.readable)
                #expect(bench.sent(by: .central).filter { $0 == [0x1E] }.count == 3)
            }
        }
    }

    @Test func `values begin with the one that is read`() async throws {
        try await Bench.run { server, bench in
            for try await change in server.subscriptions(of: Bench.counter) where change.isSubscribed {
                for number in 10..<13 {
                    try await bench.time.sleep(for: .seconds(1))
                    try server.setValue([UInt8(number)], of: Bench.counter)
                    try await server.notify([UInt8(number)], of: Bench.counter, to: change.central)
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let values = try await link.values(of: Bench.counter).collect(4).map(Array.init)
                #expect(values == [[9], [10], [11], [12]])
            }
        }
    }

    @Test func `a lost link ends a transfer with the reason and what had come of it`() async throws {
        let message = [UInt8](repeating: 0x41, count: 5000)
        try await Bench.run { server, _ in
            for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                try? await server.send(message, of: Bench.notifying, to: change.central)
            }
        } _: { bench in
            bench.air.faults.add(.dropLink(after: 4, .notifications, reason: .supervisionTimeout))
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    _ = try await link.notifications(of: Bench.notifying)
                        .assembled(until: .endOfMessage("EOM")).timeout(.seconds(30)).first()
                }
            }
            #expect(error?.code == .disconnected && error?.reason?.kind == .supervisionTimeout)
            #expect(error?.received?.count == 4 * 512)
            // The next attempt brings the whole message.
            try await bench.peripheral.withLink { link in
                let received = try await link.notifications(of: Bench.notifying)
                    .assembled(until: .endOfMessage("EOM")).timeout(.seconds(30)).first()
                #expect(received == message)
            }
        }
    }

    @Test func `a subscription that the peripheral can't serve says so`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { _ = try await link.notifications(of: Bench.readOnly).first() }
                #expect(error?.code == .notSupported && error?.cause.contains("read") == true)
                let unknown = await bleError { _ = try await link.notifications(of: BluetoothUUID(0xBEEF)).first() }
                #expect(unknown?.code == .notFound)
            }
        }
    }
}
