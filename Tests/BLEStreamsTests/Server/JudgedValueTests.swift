import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// Values that the server keeps, and closures judge before they change.
@Suite(.timeLimit(.minutes(10))) struct JudgedValueTests {
    private static let judged = BluetoothUUID(0xF501)

    private static func peripheral(
        _ write: @escaping @Sendable ([UInt8], ConnectedCentral) async throws -> Void
    ) -> LocalPeripheral {
        LocalPeripheral(name: "Judge") {
            LocalService(BluetoothUUID(0xF500)) {
                LocalCharacteristic(
                    judged,
                    [.read, .write, .writeWithoutResponse],
                    value: .stored([0]),
                    maximumLength: 400,
                    write: write
                )
            }
        }
    }

    @Test func `what is refused changes nothing, and what is taken is there before the answer`() async throws {
        let told = Recorder<[UInt8]>()
        let peripheral = Self.peripheral { value, _ in
            guard value.first != 0xFF else { throw ATTError.outOfRange }
        }
        try await Bench.run(description: peripheral) { server, _ in
            for try await write in server.writes() {
                #expect(!write.awaitsAnswer && server.value(of: Self.judged) == write.value)
                told.add(write.value)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let error = await bleError { try await link.write([0xFF, 1], to: Self.judged) }
                #expect(error?.attError == .outOfRange)
                try await link.expect(Self.judged, reads: [0])
                try await link.write([1, 2], to: Self.judged)
                try await link.expect(Self.judged, reads: [1, 2])
                let tooLong = [UInt8](repeating: 1, count: 401)
                let refused = await bleError { try await link.write(tooLong, to: Self.judged) }
                #expect(refused?.attError == .invalidAttributeValueLength)
                // In parts, whole for the closure.
                try await link.write(Bench.longValue, to: Self.judged, .reliable)
                try await link.expect(Self.judged, reads: Bench.longValue)
                let bad = [0xFF] + Bench.longValue.dropFirst()
                #expect(
                    await bleError { try await link.write(bad, to: Self.judged, .reliable) }?.attError == .outOfRange
                )
                try await link.expect(Self.judged, reads: Bench.longValue)
            }
        }
        #expect(told.all == [[1, 2], Bench.longValue])
    }

    @Test func `what was written without an answer is judged, also after the central has left`() async throws {
        let times = Recorder<VirtualTime>()
        let judged = Recorder<UInt8>()
        let peripheral = Self.peripheral { value, _ in
            try await times.all[0].sleep(for: .seconds(1))
            judged.add(value[0])
            if value[0] % 2 == 1 { throw ATTError.outOfRange }
        }
        try await Bench.run(description: peripheral) { server, bench in
            times.add(bench.time)
            for try await _ in server.centralEvents {}
        } _: { bench in
            try await bench.peripheral.withLink { link in
                for number in UInt8(1)...9 { try await link.write([number], to: Self.judged, .withoutResponse) }
                try await bench.time.sleep(for: .milliseconds(1500))
            }
            try await bench.time.sleep(for: .seconds(20))
            #expect(judged.all == Array(1...9))
            try await bench.peripheral.withLink { try await $0.expect(Self.judged, reads: [8]) }
        }
    }

    /// A lamp of four octets, whose closure takes a second.
    private static func lamp(hasFixedLength: Bool, _ times: Recorder<VirtualTime>, _ judged: Recorder<[UInt8]>)
        -> LocalPeripheral
    {
        LocalPeripheral(name: "Lamp") {
            LocalService(BluetoothUUID(0xF500)) {
                LocalCharacteristic(
                    Self.judged,
                    [.read, .write, .writeWithoutResponse],
                    value: .stored([0, 0, 0, 0]),
                    maximumLength: 4,
                    hasFixedLength: hasFixedLength,
                    write: { value, _ in
                        judged.add(value)
                        try await times.all[0].sleep(for: .seconds(1))
                    }
                )
            }
        }
    }

    @Test func `a part that is written lies over what the closure has taken since it arrived`() async throws {
        let (times, judged) = (Recorder<VirtualTime>(), Recorder<[UInt8]>())
        let lamp = Self.lamp(hasFixedLength: true, times, judged)
        try await Bench.run(description: lamp) { server, bench in
            times.add(bench.time)
            for try await _ in server.centralEvents {}
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await link.write([1, 2, 3, 4], to: Self.judged, .withoutResponse)
                try await link.write([9], to: Self.judged, .withoutResponse)
                try await bench.time.sleep(for: .seconds(5))
                try await link.expect(Self.judged, reads: [9, 2, 3, 4])
            }
        }
        #expect(judged.all == [[1, 2, 3, 4], [9, 2, 3, 4]])
    }

    @Test func `parts that two centrals write at the same time do not undo each other`() async throws {
        let (times, judged) = (Recorder<VirtualTime>(), Recorder<[UInt8]>())
        let lamp = Self.lamp(hasFixedLength: false, times, judged)
        try await Bench.run(description: lamp, centrals: 2) { server, bench in
            times.add(bench.time)
            for try await _ in server.centralEvents {}
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                let found = try #require(try await link.discover().characteristic(Self.judged)).valueHandle
                return [UInt8(truncatingIfNeeded: found), UInt8(found >> 8)]
            }
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { left in
                try await RawCentral.connected(from: bench.air.adapter(), to: address) { right in
                    #expect(await left.ask([0x16] + handle + [1, 0, 7]) == [0x17] + handle + [1, 0, 7])
                    #expect(await right.ask([0x16] + handle + [3, 0, 8]) == [0x17] + handle + [3, 0, 8])
                    left.send([0x18, 1])
                    try await bench.time.sleep(for: .milliseconds(500))
                    right.send([0x18, 1])
                    #expect(await left.next() == [0x19])
                    #expect(await right.next() == [0x19])
                    #expect(await left.ask([0x0A] + handle) == [0x0B, 0, 7, 0, 8])
                }
            }
        }
        // The second one again, since what it leaves has changed meanwhile.
        #expect(judged.all == [[0, 7, 0, 0], [0, 0, 0, 8], [0, 7, 0, 8]])
    }

    @Test func `only what the closure has accepted is stored, though the value goes on changing`() async throws {
        let (times, judged) = (Recorder<VirtualTime>(), Recorder<[UInt8]>())
        let told = Recorder<[UInt8]>()
        let lamp = Self.lamp(hasFixedLength: true, times, judged)
        try await Bench.run(description: lamp) { server, bench in
            times.add(bench.time)
            try await withThrowingDiscardingTaskGroup { group in
                group.addTask {
                    for try await write in server.writes() { told.add(write.value) }
                }
                for number in 1...100 as ClosedRange<UInt8> {
                    try server.setValue([0, 0, 0, number], of: Self.judged)
                    try await bench.time.sleep(for: .milliseconds(400))
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await link.write([9], to: Self.judged)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(judged.all.count == 4)
        #expect(told.all == Array(judged.all.suffix(1)))
    }

    @Test func `keys with a type serve both sides`() async throws {
        let told = Recorder<Int>()
        let level = TypedCharacteristic<Int>.batteryLevel
        let peripheral = LocalPeripheral(name: "Typed") {
            LocalService(.battery) {
                LocalCharacteristic(level, [.read, .write, .notify], value: 50) { percent, _ in
                    guard percent <= 100 else { throw ATTError.valueNotAllowed }
                }
            }
        }
        try await Bench.run(description: peripheral) { server, _ in
            #expect(try server.value(of: level) == 50)
            try server.setValue(60, of: level)
            let refused = await bleError { try server.setValue(256, of: level) }
            #expect(refused?.code == .invalidArgument && refused?.remedy.isEmpty == false)
            for try await change in server.subscriptions() where change.isSubscribed {
                try await server.notify(70, of: level, to: change.central)
                try await server.notify(71, of: level)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                #expect(try await link.read(level) == 60)
                try await link.write(80, to: level)
                #expect(try await link.read(level.timed).value == 80)
                #expect(await bleError { try await link.write(101, to: level) }?.attError == .valueNotAllowed)
                #expect(await bleError { try await link.write([], to: level.uuid) }?.attError == .valueNotAllowed)
                #expect(await bleError { try await link.write(-1, to: level) }?.code == .invalidArgument)
                for try await percent in link.notifications(of: level).prefix(2) { told.add(percent) }
            }
        }
        #expect(told.all == [70, 71])
    }

    @Test func `a key that only reads can't describe a value, and says so`() async throws {
        let key = TypedCharacteristic<UInt8>(Self.judged) { reader throws(MalformedValue) in try reader.uint8() }
        let peripheral = LocalPeripheral(name: "Mute") {
            LocalService(BluetoothUUID(0xF500)) { LocalCharacteristic(key, [.read], value: 1) }
        }
        try await VirtualTime.run(seed: 1) { time in
            let adapter = SimulatedAir(time).adapter()
            let error = await bleError { try await peripheral.run(on: adapter) }
            #expect(error?.code == .invalidArgument && error?.cause.contains("how a value is read") == true)
        }
    }
}
