import BLESimulator
import BLEStreams
import Testing

/// What a value may have, what is left of it on a small MTU, and who is told.
@Suite(.timeLimit(.minutes(10))) struct SendingLimitsTests {
    private static let both = BluetoothUUID(0xF301)
    private static let neither = BluetoothUUID(0xF302)
    private static let dynamic = BluetoothUUID(0xF303)
    private static let description = LocalPeripheral(name: "Talkative") {
        LocalService(BluetoothUUID(0xF300)) {
            LocalCharacteristic(both, [.notify, .indicate])
            LocalCharacteristic(neither, [.read], value: .stored([1]))
            LocalCharacteristic(dynamic, [.read], value: .dynamic)
        }
    }

    private static func octets(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0) } }

    /// Runs a body once a central has subscribed, at the given MTU; what it was sent is returned.
    private func withSubscriber(
        mtu: UInt16,
        bits: UInt8,
        sends count: Int,
        _ body: @escaping @Sendable (PeripheralServer, ConnectedCentral) async throws -> Void
    ) async throws -> [[UInt8]] {
        let heard = Recorder<[UInt8]>()
        try await Bench.run(description: Self.description) { server, _ in
            for try await change in server.subscriptions() where change.isSubscribed {
                try await body(server, change.central)
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Self.both)?.clientConfiguration).handle
            }
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: bench.centralAdapter, to: address) { central in
                if mtu > 23 { _ = await central.ask([0x02, UInt8(truncatingIfNeeded: mtu), UInt8(mtu >> 8)]) }
                central.send([0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), bits, 0])
                while heard.all.count < count, let pdu = await central.next() {
                    if pdu.first == 0x1D { central.send([0x1E]) }
                    if pdu.first != 0x13 { heard.add(pdu) }
                }
            }
        }
        return heard.all
    }

    @Test func `512 octets are sent whole at the largest MTU, and one more is an error on every way`() async throws {
        let heard = try await withSubscriber(mtu: 517, bits: 3, sends: 4) { server, central in
            #expect(central.mtu == 517 && central.maximumValueLength == 512)
            for count in 513...515 {
                let long = Self.octets(count)
                for error in [
                    await bleError { try await server.notify(long, of: Self.both) },
                    await bleError { try await server.notify(long, of: Self.both, to: central) },
                    await bleError { try await server.notify([Self.both: long], to: central) },
                    await bleError { try await server.indicate(long, of: Self.both) },
                    await bleError { try await server.indicate(long, of: Self.both, to: central) },
                ] {
                    #expect(error?.code == .overflow && error?.cause.contains("512") == true)
                }
            }
            let whole = Self.octets(512)
            let outcomes = try await server.notify(whole, of: Self.both)
            #expect(outcomes.map(\.sentCount) == [512] && outcomes.allSatisfy { $0.isSent && !$0.isCut })
            let one = try await server.notify(whole, of: Self.both, to: central)
            #expect(one.sentCount == 512 && !one.isCut)
            // Both bits of the configuration count.
            let confirmed = try await server.indicate(whole, of: Self.both)
            #expect(confirmed.map(\.sentCount) == [512] && confirmed.allSatisfy { $0.isConfirmed && !$0.isCut })
            try await server.indicate(whole, of: Self.both, to: central)
        }
        #expect(heard.map(\.count) == [515, 515, 515, 515])
        #expect(heard.map(\.first) == [0x1B, 0x1B, 0x1D, 0x1D])
    }

    @Test func `what a small MTU leaves of a value is told`() async throws {
        let heard = try await withSubscriber(mtu: 23, bits: 3, sends: 5) { server, central in
            let long = Self.octets(100)
            let outcomes = try await server.notify(long, of: Self.both)
            #expect(outcomes.map(\.sentCount) == [20] && outcomes.map(\.isCut) == [true] && outcomes[0].isSent)
            let one = try await server.notify(long, of: Self.both, to: central)
            #expect(one.sentCount == 20 && one.isCut)
            let fitting = try await server.notify(Self.octets(20), of: Self.both, to: central)
            #expect(fitting.sentCount == 20 && !fitting.isCut)
            let indicated = try await server.indicate(long, of: Self.both, to: central)
            #expect(indicated.sentCount == 20 && indicated.isCut)
            let all = try await server.indicate(long, of: Self.both)
            #expect(all.map(\.isCut) == [true])
        }
        #expect(heard.map(\.count) == [23, 23, 23, 23, 23])
    }

    @Test func `a message is sent in chunks of 512 octets at the largest MTU`() async throws {
        let heard = try await withSubscriber(mtu: 517, bits: 1, sends: 4) { server, central in
            try await server.send(Self.octets(1200), of: Self.both, to: central)
        }
        #expect(heard.map { $0.count - 3 } == [512, 512, 176, 3])
    }

    @Test func `who has subscribed in the other way is named as such`() async throws {
        _ = try await withSubscriber(mtu: 23, bits: 2, sends: 1) { server, central in
            let message = await bleError { try await server.send(Self.octets(4), of: Self.both, to: central) }
            let value = await bleError { try await server.notify(Self.octets(4), of: Self.both, to: central) }
            for error in [message, value] {
                #expect(error?.code == .notSupported && error?.cause.contains("to its notifications") == true)
                #expect(error?.remedy.contains("with its kind") == true)
            }
            try await server.indicate(Self.octets(4), of: Self.both, to: central)
        }
        _ = try await withSubscriber(mtu: 23, bits: 1, sends: 1) { server, central in
            let error = await bleError { try await server.indicate(Self.octets(4), of: Self.both, to: central) }
            #expect(error?.code == .notSupported && error?.cause.contains("to its indications") == true)
            try await server.notify(Self.octets(4), of: Self.both, to: central)
        }
    }

    @Test func `a value is not sent where no central can subscribe, and that is an error`() async throws {
        try await Bench.run(description: Self.description) { server, _ in
            let notified = await bleError { try await server.notify([1], of: Self.neither) }
            #expect(notified?.code == .notSupported && notified?.remedy.contains(".notify") == true)
            let indicated = await bleError { try await server.indicate([1], of: Self.neither) }
            #expect(indicated?.code == .notSupported && indicated?.remedy.contains(".indicate") == true)
        } _: { bench in
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    @Test func `a value that can't be stored is refused, and the error says what can`() async throws {
        let (fixed, short, long) = (BluetoothUUID(0xF304), BluetoothUUID(0xF305), BluetoothUUID(0xF306))
        let description = LocalPeripheral(name: "Storing") {
            LocalService(BluetoothUUID(0xF300)) {
                LocalCharacteristic(fixed, [.read], value: .stored([7, 7]), maximumLength: 2, hasFixedLength: true)
                LocalCharacteristic(short, [.read], maximumLength: 4)
                LocalCharacteristic(long, [.read])
            }
        }
        try await Bench.run(description: description) { server, _ in
            let fewer = await bleError { try server.setValue([1], of: fixed) }
            #expect(fewer?.code == .invalidArgument && fewer?.remedy.contains("2 octets") == true)
            let more = await bleError { try server.setValue([1, 2, 3], of: fixed) }
            #expect(more?.code == .overflow && more?.remedy.contains("2 octets") == true)
            let longer = await bleError { try server.setValue(Self.octets(5), of: short) }
            #expect(longer?.code == .overflow && longer?.remedy.contains("larger maximumLength") == true)
            let longest = await bleError { try server.setValue(Self.octets(513), of: long) }
            #expect(longest?.code == .overflow && longest?.remedy.contains("larger maximumLength") == false)
            try server.setValue([1, 2], of: fixed)
            #expect(server.value(of: fixed) == [1, 2])
        } _: { bench in
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    @Test func `more than 512 octets can't be stored or answered, and the remedy fits a value that is only read`()
        async throws
    {
        let report = BluetoothUUID(0xF307)
        let description = LocalPeripheral(name: "Reports") {
            LocalService(BluetoothUUID(0xF300)) {
                LocalCharacteristic(report, [.read])
                LocalCharacteristic(Self.dynamic, [.read], value: .dynamic)
            }
        }
        let errors = Recorder<BLEError>()
        try await Bench.run(description: description) { server, _ in
            if let error = await bleError({ try server.setValue(Self.octets(513), of: report) }) { errors.add(error) }
            for try await read in server.reads(of: Self.dynamic) {
                if let error = await bleError({ try read.respond(Self.octets(513)) }) { errors.add(error) }
                try read.respond([1])
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in try await link.expect(Self.dynamic, reads: [1]) }
        }
        // No central can subscribe to it: nothing of it can be sent.
        #expect(errors.all.map(\.operation) == ["set value", "respond"])
        #expect(errors.all.first?.remedy.hasPrefix("Store at most 512 octets") == true)
        #expect(errors.all.last?.remedy.hasPrefix("Answer with at most 512 octets") == true)
        #expect(errors.all.allSatisfy { $0.remedy.contains("a characteristic with .notify") })
    }

    @Test func `an answer of more than 512 octets is an error, and the central waits for another one`() async throws {
        try await Bench.run(description: Self.description) { server, _ in
            for try await read in server.reads(of: Self.dynamic) {
                let error = await bleError { try read.respond(Self.octets(513)) }
                #expect(error?.code == .overflow)
                try read.respond(Self.octets(512))
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await link.expect(Self.dynamic, reads: Self.octets(512))
            }
        }
    }

    @Test func `a central that takes nothing holds a value to all up once, and the others after that not at all`()
        async throws
    {
        let times = Recorder<Duration>()
        let errors = Recorder<Int>()
        try await Bench.run(description: Self.description, centrals: 2) { server, bench in
            var subscribers = 0
            for try await change in server.subscriptions() where change.isSubscribed {
                subscribers += 1
                if subscribers == 2 { break }
            }
            for number in 0..<UInt32(1000) {
                let outcomes = try await server.notify(number.octets, of: Self.both)
                times.add(bench.time.now)
                errors.add(outcomes.filter { $0.error?.code == .overflow }.count)
            }
            for try await _ in server.centralEvents {}
        } _: { bench in
            // It hears, and is heard, but never takes what is sent to it.
            let stuck = bench.air.adapter()
            stuck.settings.linkTiming.supervisionTimeout = .seconds(32)
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(Self.both)?.clientConfiguration).handle
            }
            let address = bench.peripheralAdapter.address
            try await RawCentral.connected(from: stuck, to: address) { central in
                _ = await central.ask([0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8), 1, 0])
                try await bench.peripheral.withLink { link in
                    let numbers = try await link.notifications(of: Self.both).onEach { value in
                        if value[0] == 20, value[1] == 0 { bench.air.faults.add(.outOfRange(), on: stuck) }
                    }.collect(1000)
                    #expect(numbers.count == 1000)
                }
                let pauses = zip(times.all, times.all.dropFirst()).map { $1 - $0 }
                #expect(pauses.filter { $0 > .seconds(5) } == [.seconds(10)])
                #expect(errors.all.filter { $0 == 1 }.count > 500)
            }
            // Until the link of the stuck one is lost: it has the air, which has the link.
            try await bench.time.sleep(for: .seconds(40))
        }
    }
}
