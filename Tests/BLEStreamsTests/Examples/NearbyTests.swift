import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// What people compose of a scan and of a link's values.
@Suite(.timeLimit(.minutes(10))) struct NearbyTests {
    /// A lamp, a tag and a scale beside a central, all advertising until the body ends.
    private struct Room {
        let time: VirtualTime
        let air: SimulatedAir
        let near: SimulatedAdapter
        let central: Central
        let adapters: [String: SimulatedAdapter]

        func setSignal(_ signal: SignalStrength, of name: String) throws {
            air.setSignal(signal, between: near, and: try #require(adapters[name]))
        }

        static func run(seed: UInt64, _ body: @escaping @Sendable (Room) async throws -> Void) async throws {
            try await VirtualTime.run(seed: seed) { time in
                let air = SimulatedAir(time)
                let near = air.adapter()
                let names = ["Lamp", "Tag", "Scale"]
                let adapters = Dictionary(uniqueKeysWithValues: names.map { ($0, air.adapter(name: $0)) })
                let room = Room(
                    time: time,
                    air: air,
                    near: near,
                    central: try await Central.open(.radio(near)),
                    adapters: adapters
                )
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (name, adapter) in adapters {
                        let peripheral = LocalPeripheral(name: name) {
                            LocalService(.battery) {
                                LocalCharacteristic(
                                    BluetoothUUID.Characteristics.batteryLevel,
                                    [.read],
                                    value: .stored([1])
                                )
                            }
                        }
                        group.addTask {
                            try await peripheral.run(on: adapter) { server in
                                for try await _ in server.centralEvents {}
                            }
                        }
                    }
                    group.addTask { try await body(room) }
                    // The body ends first, in whichever way.
                    defer { group.cancelAll() }
                    try await group.next()
                }
            }
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `who is nearby is a line: a scan of five seconds, collected`(seed: UInt64) async throws {
        try await Room.run(seed: seed) { room in
            try room.setSignal(.outOfRange, of: "Scale")
            let start = room.time.now
            let nearby = try await room.central.scan().prefix(for: .seconds(5)).collect()
            #expect(Set(nearby.compactMap(\.name)) == ["Lamp", "Tag"])
            #expect(nearby.count == 2)
            #expect(room.time.now - start == .seconds(5))
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `presence tells who comes, who goes out of range and who comes back`(seed: UInt64) async throws {
        try await Room.run(seed: seed) { room in
            try room.setSignal(.outOfRange, of: "Scale")
            // At 20 seconds the tag goes; at 60 seconds it comes back.
            let begin = room.time.now
            let tag = try #require(room.adapters["Tag"])
            let (air, near) = (room.air, room.near)
            let timers = [(20, SignalStrength.outOfRange), (60, .dBm(-60))].map { second, signal in
                room.time.schedule(after: .seconds(second)) { air.setSignal(signal, between: near, and: tag) }
            }
            let events = try await room.central.scan(for: .service(.battery), duplicates: true)
                .presence(timeout: .seconds(10))
                .compactMap { event -> (name: String, word: String, second: Double)? in
                    let second = (room.time.now - begin) / .seconds(1)
                    let name = event.value.name ?? ""
                    return switch event {
                    case .enter: (name, "enter", second)
                    case .update: nil
                    case .leave: (name, "leave", second)
                    }
                }
                .prefix(for: .seconds(90))
                .collect()
            #expect(Set(events.prefix(2).map(\.name)) == ["Lamp", "Tag"])
            #expect(events.map(\.word) == ["enter", "enter", "leave", "enter"])
            #expect(events.dropFirst(2).allSatisfy { $0.name == "Tag" })
            // It was heard last some time in the second before it went.
            #expect(events.count == 4 && (28.0...30.0).contains(events[2].second))
            #expect(events.count == 4 && (60.0...63.0).contains(events[3].second))
            for timer in timers { timer.cancel() }
        }
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `two characteristics of one link are combined as they come`(seed: UInt64) async throws {
        try await Bench.run(
            seed: seed,
            serve: { server, bench in
                // The second one to be subscribed to.
                for try await change in server.subscriptions(of: Bench.counter) where change.isSubscribed {
                    for number in UInt8(1)...3 {
                        try await bench.time.sleep(for: .seconds(1))
                        try await server.notify([number], of: Bench.notifying)
                        try await bench.time.sleep(for: .seconds(1))
                        try await server.notify([number + 10], of: Bench.counter)
                    }
                }
            },
            { bench in
                try await bench.peripheral.withLink { link in
                    let values = link.notifications(of: Bench.notifying)
                    let counts = link.notifications(of: Bench.counter)
                    let pairs = values.combineLatest(with: counts).map { [$0[0], $1[0]] }
                    let combined = try await pairs.collect(5)
                    #expect(combined == [[1, 11], [2, 11], [2, 12], [3, 12], [3, 13]])
                }
            }
        )
    }

    @Test func `a link that is lost ends what was combined of it`() async throws {
        try await Bench.run { bench in
            bench.air.faults.add(.dropLink(after: .seconds(5)))
            try await bench.peripheral.withLink { link in
                let values = link.notifications(of: Bench.notifying)
                let error = await bleError {
                    for try await _ in values.combineLatest(with: link.notifications(of: Bench.counter)) {}
                }
                #expect(error?.code == .disconnected)
            }
        }
    }
}
