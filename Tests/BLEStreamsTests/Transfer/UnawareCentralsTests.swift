import BLESimulator
import BLEStreams
import Testing

/// Messages to a central that enables robust caching, and then says nothing: until it knows of a change of the
/// services, it gets no notification.
@Suite(.timeLimit(.minutes(10))) struct UnawareCentralsTests {
    /// As many chunks as may wait for the radio, and the one that the radio has.
    private static let message = (0..<320).map { UInt8(truncatingIfNeeded: $0 * 7) }
    private static let more = LocalService(BluetoothUUID(0xE000)) {
        LocalCharacteristic(BluetoothUUID(0xE001), [.read])
    }
    /// A radio that takes one chunk ahead, and small ones.
    private static let narrow = AdapterSettings(maximumPDUSize: 23, sendBufferSize: 200)

    /// What became of a message.
    private struct Outcome: Sendable {
        var error: BLEError?
        var isCancelled = false
        var took: Duration
    }

    /// Runs a body with a central that has subscribed, to which a message is sent; the services are replaced when
    /// as many of its chunks wait as may.
    ///
    /// - Parameters:
    ///   - hearsChanges: whether the central has subscribed to Service Changed, which it never confirms.
    ///   - message: what is sent.
    ///   - isLate: whether the services are replaced before it is sent.
    ///   - patience: when the program gives up; `nil`: never.
    private static func run(
        hearsChanges: Bool,
        message: [UInt8] = UnawareCentralsTests.message,
        isLate: Bool = false,
        patience: Duration? = nil,
        _ body: @escaping @Sendable (Bench, RawCentral) async throws -> Void
    ) async throws -> [Outcome] {
        let outcomes = Recorder<Outcome>()
        try await Bench.run(description: MessageBench.description, settings: Self.narrow) { server, bench in
            for try await change in server.subscriptions(of: MessageBench.outbound) where change.isSubscribed {
                let start = bench.time.now
                if isLate { try server.replaceServices(MessageBench.description.services + [Self.more]) }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        var outcome = Outcome(took: .zero)
                        do {
                            try await server.send(message, of: MessageBench.outbound, to: change.central)
                        } catch let error as BLEError {
                            outcome.error = error
                        } catch is CancellationError {
                            outcome.isCancelled = true
                        }
                        outcome.took = bench.time.now - start
                        outcomes.add(outcome)
                    }
                    if isLate { return try await group.waitForAll() }
                    try await bench.time.sleep(for: .milliseconds(1))
                    #expect(outcomes.all.isEmpty && change.central.notifications.waiting > 1)
                    try server.replaceServices(MessageBench.description.services + [Self.more])
                    if let patience {
                        try await bench.time.sleep(for: patience)
                        group.cancelAll()
                    }
                    try await group.waitForAll()
                }
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(MessageBench.outbound)?.clientConfiguration)
                    .handle
            }
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                // Robust caching.
                let enabled = await central.ask([0x12, 0x0B, 0x00, 0x01])
                #expect(enabled == [0x13])
                if hearsChanges {
                    let subscribed = await central.ask([0x12, 0x09, 0x00, 0x02, 0x00])
                    #expect(subscribed == [0x13])
                }
                central.send([0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 1, 0])
                try await bench.time.sleep(for: .seconds(60))
                try await body(bench, central)
            }
        }
        return outcomes.all
    }

    /// Reads the name until the central knows of the change. Returns what it was notified of, up to the mark.
    private static func heard(by central: RawCentral) async -> [UInt8] {
        var heard: [UInt8] = []
        central.send([0x0A, 0x03, 0x00])
        while heard.suffix(3) != Array("EOM".utf8)[...], let pdu = await central.next() {
            if pdu.first == 0x1B { heard += pdu.dropFirst(3) }
            // Database Out Of Sync.
            if pdu == [0x01, 0x0A, 0x03, 0x00, 0x12] { central.send([0x0A, 0x03, 0x00]) }
        }
        return heard
    }

    @Test func `one that nothing tells of new services costs the sender no wait, and gets the rest when it asks`()
        async throws
    {
        let outcomes = try await Self.run(hearsChanges: false) { _, central in
            #expect(central.end == nil)
            let heard = await Self.heard(by: central)
            #expect(heard == Self.message + Array("EOM".utf8))
        }
        #expect(outcomes.map(\.error?.code) == [.busy] && outcomes.map(\.error?.operation) == ["send"])
        #expect(outcomes.allSatisfy { $0.took < .seconds(1) })
        #expect(outcomes.first?.error?.cause.contains("the services changed") == true)
        #expect(outcomes.first?.error?.remedy.contains("Don't send it again") == true)
        #expect(outcomes.first?.error?.isFinal == true)
    }

    @Test func `one that has only a part of a message is to be disconnected`() async throws {
        let long = (0..<6000).map { UInt8(truncatingIfNeeded: $0 * 7) }
        let outcomes = try await Self.run(hearsChanges: false, message: long) { _, _ in }
        #expect(outcomes.map(\.error?.code) == [.busy] && outcomes.allSatisfy { $0.took < .seconds(1) })
        #expect(outcomes.first?.error?.remedy.contains("ConnectedCentral.disconnect()") == true)
        #expect(outcomes.first?.error?.isFinal == true)
    }

    @Test func `one that has nothing of a message can be sent it again later`() async throws {
        let outcomes = try await Self.run(hearsChanges: false, isLate: true) { _, _ in }
        #expect(outcomes.map(\.error?.code) == [.busy] && outcomes.map(\.error?.isFinal) == [false])
        #expect(outcomes.first?.error?.remedy.contains("Send again later") == true)
        #expect(outcomes.first?.error?.remedy.contains("disconnect()") == false)
    }

    @Test func `one that does not confirm Service Changed costs the sender the 30 s of the specification`()
        async throws
    {
        let outcomes = try await Self.run(hearsChanges: true) { _, central in
            #expect(central.end != nil)
        }
        #expect(outcomes.map(\.error?.code) == [.disconnected])
        #expect(outcomes.map(\.error?.reason?.kind) == [.transactionTimeout])
        #expect(outcomes.allSatisfy { $0.took >= .seconds(30) && $0.took < .seconds(35) })
    }

    @Test func `a program that does not want to wait for the confirmation can give up`() async throws {
        let outcomes = try await Self.run(hearsChanges: true, patience: .seconds(3)) { _, _ in }
        #expect(outcomes.map(\.isCancelled) == [true] && outcomes.allSatisfy { $0.took < .seconds(4) })
    }
}
