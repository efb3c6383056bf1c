import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// What a description asks for and can't have, and how characteristics are told apart.
@Suite(.timeLimit(.minutes(10))) struct DescriptionTests {
    private static let level = BluetoothUUID.Characteristics.batteryLevel

    private func error(_ characteristics: LocalCharacteristic...) async throws -> BLEError? {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            let description = LocalPeripheral(name: "Odd") {
                LocalService(.battery, characteristics: characteristics)
            }
            let error = await bleError { try await description.run(on: adapter) { _ in } }
            #expect(adapter.activity.isIdle)
            return error
        }
    }

    @Test func `what takes signed writes only is not served, since nobody verifies the signatures`() async throws {
        let refused = try await error(LocalCharacteristic(Self.level, [.read, .authenticatedSignedWrites]))
        #expect(refused?.code == .notSupported && refused?.cause.contains("2A19") == true)
        #expect(refused?.remedy.contains("encrypted") == true)
        try await Bench.run { server, _ in
            let services = [
                LocalService(.battery) { LocalCharacteristic(Self.level, [.authenticatedSignedWrites]) }
            ]
            #expect(await bleError { try server.replaceServices(services) }?.code == .notSupported)
        } _: { bench in
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    @Test func `a value longer than any is refused, and the error says what to change`() async throws {
        let value = [UInt8](repeating: 0, count: 513)
        let refused = try await error(LocalCharacteristic(Self.level, [.read], value: .stored(value)))
        #expect(refused?.code == .invalidArgument && refused?.cause.contains("513") == true)
        #expect(refused?.remedy.contains("declaration") == true)
    }

    @Test func `two characteristics of one name are refused, and the way out is told`() async throws {
        let twice = try await error(
            LocalCharacteristic(Self.level, [.read]),
            LocalCharacteristic(Self.level, [.notify])
        )
        #expect(twice?.code == .invalidArgument && twice?.cause.contains("2A19") == true)
        #expect(twice?.remedy.contains("id:") == true)
    }

    @Test func `characteristics of one UUID are reached by their names, and not by what doesn't tell them apart`()
        async throws
    {
        let description = LocalPeripheral(name: "Two batteries") {
            LocalService(.battery, id: "left") {
                LocalCharacteristic(
                    Self.level,
                    [.read, .write, .notify, .indicate],
                    value: .stored([1]),
                    id: "left level"
                )
            }
            LocalService(.battery, id: "right") {
                LocalCharacteristic(
                    Self.level,
                    [.read, .write, .notify, .indicate],
                    value: .stored([2]),
                    id: "right level"
                )
            }
        }
        let written = Recorder<String>()
        try await Bench.run(description: description) { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    // A UUID stands for all of them where nothing is chosen.
                    for try await write in server.writes(to: Self.level) { written.add(write.characteristic) }
                }
                group.addTask {
                    for try await write in server.writes(to: .id("right level")) { written.add("-> \(write.value)") }
                }
                for try await change in server.subscriptions(of: .id("right level")) where change.isSubscribed {
                    #expect(server.value(of: .id("right level")) == [2] && server.value(of: .id("left level")) == [1])
                    try server.setValue([3], of: .id("right level"))
                    for error in [
                        await bleError { try await server.notify([9], of: Self.level) },
                        await bleError { try await server.indicate([9], of: Self.level) },
                        await bleError { try server.setValue([9], of: Self.level) },
                    ] {
                        #expect(error?.code == .invalidArgument && error?.remedy.contains("id") == true)
                    }
                    try await server.notify([4], of: .id("right level"))
                    try await server.notify([5], of: .id("right level"), to: change.central)
                }
                group.cancelAll()
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let found = try await link.discover().characteristics(Self.level)
                try #require(found.count == 2)
                let values = try await link.notifications(of: found[1]).collect(2).map(Array.init)
                #expect(values == [[4], [5]])
                let value = try await link.read(found[1])
                #expect(Array(value) == [3])
                for characteristic in found { try await link.write([8], to: characteristic) }
                try await bench.time.sleep(for: .seconds(1))
            }
            #expect(Set(written.all) == ["left level", "right level", "-> [8]"] && written.all.count == 3)
        }
    }

    @Test func `a second peripheral on one adapter is told that there is one, which goes on`() async throws {
        try await Bench.run { bench in
            // Whoever is on air is the first one.
            _ = try await bench.central.scan(for: .namePrefix("Ben")).first()
            let other = LocalPeripheral(name: "Other") { LocalService(.battery) {} }
            let error = await bleError { try await other.run(on: bench.peripheralAdapter) }
            #expect(error?.code == .busy && error?.remedy.isEmpty == false)
            try await bench.peripheral.withLink { link in try await link.expect(Bench.readOnly, reads: [7]) }
        }
    }
}
