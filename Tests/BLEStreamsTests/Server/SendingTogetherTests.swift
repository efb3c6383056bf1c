import BLESimulator
import BLEStreams
import Testing

/// Large messages to centrals that come and go, beside values that don't wait for anybody.
@Suite(.timeLimit(.minutes(10))) struct SendingTogetherTests {
    private static let outbound = MessageBench.outbound
    private static let message = (0..<6000).map { UInt8(truncatingIfNeeded: $0 * 31) }
    /// A radio that takes one chunk ahead, and small ones.
    private static let narrow = AdapterSettings(maximumPDUSize: 23, sendBufferSize: 200)

    private static let description = LocalPeripheral(name: "Teller") {
        LocalService(MessageBench.service) {
            LocalCharacteristic(outbound, [.notify], access: .encrypted)
            LocalCharacteristic(Bench.notifying, [.notify])
        }
    }

    /// What became of a message to a central.
    private struct Outcome: Sendable {
        var central: BluetoothAddress
        /// `nil`: it was sent.
        var error: BLEError.Code?
    }

    /// Sends the message to each central that subscribes, each time, and to all at once.
    private static func tell(_ server: PeripheralServer, _ outcomes: Recorder<Outcome>) async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for try await change in server.subscriptions(of: Self.outbound) where change.isSubscribed {
                let central = change.central
                group.addTask {
                    do {
                        try await server.send(Self.message, of: Self.outbound, to: central)
                        outcomes.add(Outcome(central: central.address, error: nil))
                    } catch let error as BLEError {
                        outcomes.add(Outcome(central: central.address, error: error.code))
                    }
                }
            }
        }
    }

    /// The next message that a peripheral sends on a link of its own.
    private static func receive(from peripheral: Peripheral) async throws -> [UInt8] {
        try await peripheral.withLink { link in
            try await link.notifications(of: Self.outbound).assembled(until: .endOfMessage()).timeout(.seconds(60))
                .first()
        }
    }

    @Test(arguments: [false, true])
    func `a central that leaves in the middle, or forgets its bond, costs another one nothing`(
        forgets: Bool
    ) async throws {
        let outcomes = Recorder<Outcome>()
        let steadyAddress = Recorder<BluetoothAddress>()
        try await Bench.run(description: Self.description, centrals: 2, settings: Self.narrow) { server, _ in
            try await Self.tell(server, outcomes)
        } _: { bench in
            let other = bench.air.adapter()
            steadyAddress.add(bench.centralAdapter.address)
            let restless = try await Central.open(.radio(other)).peripheral(bench.peripheralAdapter.address)
            for peripheral in [bench.peripheral, restless] { peripheral.allowPairing(PairingAnswers()) }
            try await withThrowingTaskGroup(of: [UInt8].self) { group in
                let steady = bench.peripheral
                group.addTask { try await Self.receive(from: steady) }
                do {
                    try await restless.withLink { link in
                        var chunks = 0
                        for try await _ in link.notifications(of: Self.outbound).timeout(.seconds(60)) {
                            chunks += 1
                            // The link goes with the bond.
                            if chunks == 20, forgets { try await restless.unpair() }
                            if chunks == 20, !forgets { break }
                        }
                    }
                } catch let error as BLEError {
                    #expect(forgets && error.code == .disconnected)
                }
                let again = try await Self.receive(from: restless)
                #expect(again == Self.message)
                let steadily = try await group.next()
                #expect(steadily == Self.message)
            }
            // The last chunk has been heard before the sender is told that the radio has it.
            try await bench.time.sleep(for: .seconds(1))
        }
        let steady = outcomes.all.filter { steadyAddress.all.contains($0.central) }
        #expect(steady.map(\.error) == [nil])
        let restless = outcomes.all.filter { !steadyAddress.all.contains($0.central) }
        #expect(restless.first?.error != nil)
        #expect(restless.contains { $0.error == nil })
    }

    @Test func `values of another characteristic that keep only the newest ones take nothing from a message`()
        async throws
    {
        let outcomes = Recorder<Outcome>()
        let dropped = Recorder<Int>()
        try await Bench.run(description: Self.description, settings: Self.narrow) { server, bench in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask { try await Self.tell(server, outcomes) }
                while true {
                    for outcome in try server.notify([1], of: Bench.notifying, buffer: .newest(2)) {
                        dropped.add(outcome.droppedCount)
                    }
                    try await bench.time.sleep(for: .milliseconds(1))
                }
            }
        } _: { bench in
            bench.peripheral.allowPairing(PairingAnswers())
            try await bench.peripheral.withLink { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await _ in link.notifications(of: Bench.notifying) {} }
                    let messages = link.notifications(of: Self.outbound).assembled(until: .endOfMessage())
                    let message = try await messages.timeout(.seconds(60)).first()
                    #expect(message == Self.message)
                    group.cancelAll()
                }
            }
        }
        #expect(dropped.all.reduce(0, +) > 100)
    }

    @Test func `values of the same characteristic that take the place of chunks are an error of the message`()
        async throws
    {
        let errors = Recorder<BLEError>()
        try await Bench.run(description: MessageBench.description, settings: Self.narrow) { server, bench in
            for try await change in server.subscriptions(of: Self.outbound) where change.isSubscribed {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        let error = await bleError {
                            try await server.send(Self.message, of: Self.outbound, to: change.central)
                        }
                        if let error { errors.add(error) }
                    }
                    try await bench.time.sleep(for: .milliseconds(1))
                    let outcomes = try server.notify([9], of: Self.outbound, buffer: .newest(2))
                    #expect(outcomes.map(\.isSent) == [true] && outcomes.allSatisfy { $0.droppedCount > 0 })
                    try await group.waitForAll()
                }
                let next = await bleError { try await server.send([1], of: Self.outbound, to: change.central) }
                if let next { errors.add(next) }
            }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    for try await _ in link.notifications(of: Self.outbound).timeout(.seconds(60)) {}
                }
            }
            #expect(error?.code == .disconnected)
            try await bench.time.sleep(for: .seconds(1))
        }
        #expect(errors.all.map(\.code) == [.overflow, .disconnected])
        #expect(errors.all.first?.cause.contains("were dropped for newer values") == true)
        #expect(errors.all.first?.isFinal == true)
        #expect(errors.all.last?.cause.contains("cut off") == true)
    }
}
