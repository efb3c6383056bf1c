import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks to a central that gets other values all the time.
@Suite(.timeLimit(.minutes(10))) struct MessagesBesideValuesTests {
    private static let outbound = MessageBench.outbound

    private static let description = LocalPeripheral(name: "Busy") {
        LocalService(MessageBench.service) {
            LocalCharacteristic(outbound, [.notify])
            LocalCharacteristic(Bench.notifying, [.notify])
        }
    }

    /// Does the work, until the central has left.
    private static func untilLeft(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {}
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `sending ends when the radio has the message, though other values always wait`(seed: UInt64) async throws {
        let message = [UInt8](repeating: 1, count: 1000)
        let values = Recorder<Bool>()
        let narrow = AdapterSettings(maximumPDUSize: 23, sendBufferSize: 200)
        try await Bench.run(seed: seed, description: Self.description, settings: narrow) { server, _ in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                        try await Self.untilLeft {
                            while true { try await server.notify([1], of: Bench.notifying, to: change.central) }
                        }
                    }
                }
                for try await change in server.subscriptions(of: Self.outbound) where change.isSubscribed {
                    try await Self.untilLeft {
                        while true { try await server.send(message, of: Self.outbound, to: change.central) }
                    }
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await _ in link.notifications(of: Bench.notifying) { values.add(true) }
                    }
                    // Each begins when the one before it has ended.
                    let messages = link.notifications(of: Self.outbound).assembled(until: .endOfMessage())
                    let taken = try await messages.timeout(.seconds(60)).collect(3)
                    #expect(taken == [message, message, message])
                    group.cancelAll()
                }
            }
        }
        #expect(values.all.count > 100)
    }

    @Test(arguments: [true, false])
    func `what a fast producer keeps waiting keeps no message and no other value from its turn`(_ isMessage: Bool)
        async throws
    {
        let message = [UInt8](repeating: 1, count: 1000)
        let narrow = AdapterSettings(maximumPDUSize: 23, sendBufferSize: 200)
        try await Bench.run(description: Self.description, settings: narrow) { server, bench in
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    for try await change in server.subscriptions(of: Bench.notifying) where change.isSubscribed {
                        try await Self.untilLeft {
                            while true {
                                for _ in 0..<20 {
                                    try server.notify(
                                        [1],
                                        of: Bench.notifying,
                                        to: change.central,
                                        buffer: .newest(100)
                                    )
                                }
                                try await bench.time.sleep(for: .milliseconds(10))
                            }
                        }
                    }
                }
                for try await change in server.subscriptions(of: Self.outbound) where change.isSubscribed {
                    try await bench.time.sleep(for: .seconds(5))
                    try await Self.untilLeft {
                        while isMessage { try await server.send(message, of: Self.outbound, to: change.central) }
                        var hasLeft = isMessage
                        while !hasLeft {
                            let outcomes = try await server.notify([2], of: Self.outbound)
                            let codes = outcomes.compactMap { $0.error?.code }
                            hasLeft = outcomes.isEmpty || codes == [.disconnected] || codes == [.notSupported]
                            #expect(hasLeft || codes.isEmpty)
                        }
                    }
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { for try await _ in link.notifications(of: Bench.notifying) {} }
                    let values = link.notifications(of: Self.outbound)
                    if isMessage {
                        let messages = values.assembled(until: .endOfMessage()).timeout(.seconds(60))
                        let taken = try await messages.collect(2)
                        #expect(taken == [message, message])
                    } else {
                        let taken = try await values.timeout(.seconds(60)).collect(200)
                        #expect(taken.count == 200)
                    }
                    group.cancelAll()
                }
            }
        }
    }
}
