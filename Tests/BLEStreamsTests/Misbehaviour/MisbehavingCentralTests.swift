import BLESimulator
import BLEStreams
import Testing

/// Centrals that don't keep to the Attribute Protocol, against a peripheral of ours.
@Suite(.timeLimit(.minutes(10))) struct MisbehavingCentralTests {
    private func withCentral(
        description: LocalPeripheral = Bench.description,
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await _ in server.centralEvents {}
        },
        _ body: @escaping @Sendable (RawCentral, Bench) async throws -> Void
    ) async throws {
        try await Bench.run(description: description, centrals: 2, serve: serve) { bench in
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                try await body(central, bench)
            }
        }
    }

    /// The value handle of a characteristic, as a well-behaved client finds it.
    private func handle(of uuid: BluetoothUUID, _ bench: Bench) async throws -> UInt16 {
        let other = try await Central.open(.radio(bench.air.adapter()))
        return try await other.peripheral(bench.peripheralAdapter.address).withLink { link in
            try #require(try await link.discover().characteristic(uuid)).valueHandle
        }
    }

    @Test func `an MTU below 23 counts as 23, and a second request is answered like the first`() async throws {
        try await withCentral { central, _ in
            let answer = await central.ask([0x02, 0x05, 0x00])
            #expect(answer == [0x03, 0x05, 0x02])
            // As long as 22 octets allow: nothing longer is sent.
            let name = await central.ask([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x03, 0x28])
            #expect((name?.count ?? 0) <= 23)
            let second = await central.ask([0x02, 0x40, 0x00])
            #expect(second == [0x03, 0x05, 0x02])
            #expect(central.end == nil)
        }
    }

    @Test func `responses, notifications and confirmations that nobody asked for are ignored`() async throws {
        try await withCentral { central, _ in
            central.send([0x0B, 1, 2, 3], [0x1B, 3, 0, 9], [0x1E], [0x13], [0x01, 0x0A, 3, 0, 1], [0x05], [0x1E, 1])
            let answer = await central.ask([0x0A, 0x03, 0x00])
            #expect(answer.map { $0.first == 0x0B } == true)
            #expect(central.end == nil)
        }
    }

    @Test(
        arguments: [
            [0x0A], [0x0A, 0x03], [0x0A, 0x03, 0x00, 0x00], [0x0C, 0x03, 0x00], [0x04, 0x01, 0x00],
            [0x08, 0x01, 0x00, 0xFF],
            [0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28, 0x00], [0x12], [0x16, 0x03, 0x00, 0x00], [0x18], [0x18, 0x02],
            [0x02, 0x17], [0x0E, 0x03], [0x20, 0x03, 0x00, 0x04], [0x06, 0x01, 0x00],
        ] as [[UInt8]]
    )
    func `a request that is cut off or too long is answered Invalid PDU`(_ pdu: [UInt8]) async throws {
        try await withCentral { central, _ in
            let answer = await central.ask(pdu)
            #expect(answer == [0x01, pdu[0], 0x00, 0x00, 0x04])
            #expect(central.end == nil)
        }
    }

    @Test func `a request that is longer than the MTU is answered Invalid PDU`() async throws {
        try await withCentral { central, _ in
            let answer = await central.ask([0x12, 0x03, 0x00] + [UInt8](repeating: 1, count: 21))
            #expect(answer == [0x01, 0x12, 0x00, 0x00, 0x04])
        }
    }

    @Test func `requests that nobody knows are refused, and commands that nobody knows ignored`() async throws {
        try await withCentral { central, _ in
            let answer = await central.ask([0x26, 0x01])
            #expect(answer == [0x01, 0x26, 0x00, 0x00, 0x06])
            central.send([0x7F, 0x01], [0xD2, 0x01])
            let next = await central.ask([0x3F])
            #expect(next == [0x01, 0x3F, 0x00, 0x00, 0x06])
        }
    }

    @Test func `ranges that make no sense are answered Invalid Handle`() async throws {
        try await withCentral { central, _ in
            for pdu: [UInt8] in [
                [0x04, 0x00, 0x00, 0xFF, 0xFF], [0x04, 0x05, 0x00, 0x04, 0x00],
                [0x08, 0x09, 0x00, 0x08, 0x00, 0x03, 0x28], [0x10, 0x02, 0x00, 0x01, 0x00, 0x00, 0x28],
            ] {
                let answer = await central.ask(pdu)
                #expect(answer == [0x01, pdu[0], pdu[1], pdu[2], 0x01])
            }
            let none = await central.ask([0x0A, 0xFF, 0xFE])
            #expect(none == [0x01, 0x0A, 0xFF, 0xFE, 0x01])
        }
    }

    @Test func `an execute without a prepare does nothing and succeeds`() async throws {
        try await withCentral { central, _ in
            let write = await central.ask([0x18, 0x01])
            #expect(write == [0x19])
            let cancel = await central.ask([0x18, 0x00])
            #expect(cancel == [0x19])
        }
    }

    @Test func `a flood of prepared writes is refused once the queue is full, and forgotten with the link`()
        async throws
    {
        try await withCentral { central, bench in
            let handle = try await handle(of: Bench.long, bench)
            let low = UInt8(truncatingIfNeeded: handle)
            let high = UInt8(handle >> 8)
            var accepted = 0
            for _ in 0..<1000 {
                let answer = await central.ask([0x16, low, high, 0x00, 0x00] + [UInt8](repeating: 7, count: 18))
                if answer?.first == 0x17 {
                    accepted += 1
                } else {
                    #expect(answer == [0x01, 0x16, low, high, 0x09])
                }
            }
            #expect(accepted == 128)
            let cancelled = await central.ask([0x18, 0x00])
            #expect(cancelled == [0x19])
            let again = await central.ask([0x16, low, high, 0x00, 0x00, 0x01])
            #expect(again?.first == 0x17)
        }
    }

    @Test func `requests that don't wait for answers are answered while they are few, then the link is closed`()
        async throws
    {
        let ends = Recorder<DisconnectReason.Kind>()
        try await withCentral { server, bench in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await event in server.centralEvents {
                        if case .disconnected(_, let reason) = event { ends.add(reason.kind) }
                    }
                }
                var count: UInt8 = 0
                for try await request in server.reads(of: Bench.dynamic) {
                    // The fourth one stays open.
                    try await bench.time.sleep(for: count == 3 ? .seconds(15) : .seconds(1))
                    try request.respond([count])
                    count += 1
                }
            }
        } _: { central, bench in
            let handle = try await handle(of: Bench.dynamic, bench)
            let read = [0x0A, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
            central.send(read, read, read)
            for number in 0..<3 as Range<UInt8> {
                let answer = await central.next()
                #expect(answer == [0x0B, number])
            }
            for _ in 0..<10 { central.send(read) }
            let answer = await central.next()
            #expect(answer == nil && central.end != nil)
            try await bench.time.sleep(for: .seconds(1))
            #expect(ends.all.contains(.protocolViolation), "\(ends.all)")
        }
    }

    @Test func `an indication that is not confirmed holds back the next one, and closes the link after 30 s`()
        async throws
    {
        try await withCentral { server, bench in
            for try await change in server.subscriptions(of: Bench.indicating) where change.isSubscribed {
                let begin = bench.time.now
                await withTaskGroup(of: Void.self) { group in
                    for number in 1...2 as ClosedRange<UInt8> {
                        group.addTask {
                            let error = await bleError {
                                try await server.indicate([number], of: Bench.indicating, to: change.central)
                            }
                            #expect(error?.reason?.kind == .transactionTimeout)
                        }
                    }
                }
                #expect(bench.time.now - begin >= .seconds(30))
            }
        } _: { central, bench in
            let handle = try await handle(of: Bench.indicating, bench)
            let configuration = handle + 1
            let subscribed = await central.ask(
                [0x12, UInt8(truncatingIfNeeded: configuration), UInt8(configuration >> 8), 0x02, 0x00]
            )
            #expect(subscribed == [0x13])
            let first = await central.next()
            #expect(first?.first == 0x1D)
            // A notification of ours, and a confirmation that is none: nothing more comes.
            central.send([0x1E, 0x00])
            let second = await central.next()
            #expect(second == nil && central.end != nil)
        }
    }

    @Test func `two centrals have a queue, an MTU and subscriptions of their own`() async throws {
        try await Bench.run(centrals: 3) { bench in
            let address = bench.peripheralAdapter.address
            let other = bench.air.adapter()
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { first in
                try await RawCentral.connected(from: other, to: address) { second in
                    let handle = try await handle(of: Bench.long, bench)
                    let prepare = [0x16, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 0, 0, 0xEE]
                    let large = await first.ask([0x02, 0x05, 0x02])
                    #expect(large == [0x03, 0x05, 0x02])
                    let prepared = await first.ask(prepare)
                    #expect(prepared?.first == 0x17)
                    // The other one's queue is empty: what the first has prepared stays where it is.
                    let executed = await second.ask([0x18, 0x01])
                    #expect(executed == [0x19])
                    let value = await second.ask([0x0A, prepare[1], prepare[2]])
                    #expect(value?.count == 23 && value?[1] == Bench.longValue[0])
                    let done = await first.ask([0x18, 0x01])
                    #expect(done == [0x19])
                    let changed = await second.ask([0x0A, prepare[1], prepare[2]])
                    #expect(changed == [0x0B, 0xEE])
                }
            }
        }
    }
}
