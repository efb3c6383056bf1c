import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// A serial line that this device offers, against the library's own other end.
@Suite(.timeLimit(.minutes(10))) struct CentralBytesTests {
    private static let description = LocalPeripheral(name: "Modem") { LocalService.serialLine() }

    /// Answers each octet by the next number, to the central that wrote it.
    @Sendable private static func count(_ server: PeripheralServer, _ bench: Bench) async throws {
        try await withThrowingDiscardingTaskGroup { lines in
            let subscriptions = server.subscriptions(of: SerialService.nordicUART.incoming)
            for try await change in subscriptions where change.isSubscribed {
                lines.addTask {
                    let line = server.bytes(of: .nordicUART, with: change.central)
                    for try await chunk in line.chunks { try await line.write(chunk.map { $0 &+ 1 }) }
                }
            }
        }
    }

    @Test func `octets go both ways, each central's on its own line`() async throws {
        try await Bench.run(description: Self.description, centrals: 2, serve: Self.count) { bench in
            let second = try await Central.open(.radio(bench.air.adapter())).peripheral(bench.peripheralAdapter.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (peripheral, octet) in [(bench.peripheral, UInt8(10)), (second, 20)] {
                    group.addTask {
                        try await peripheral.withLink { link in
                            let line = link.bytes(of: .nordicUART)
                            async let returned = line.incoming.collect(3000)
                            try await bench.time.sleep(for: .seconds(5))
                            try await line.write([UInt8](repeating: octet, count: 3000))
                            #expect(try await returned == [UInt8](repeating: octet + 1, count: 3000))
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a line that is read before its service is offered brings what comes once it is`() async throws {
        let texts = Recorder<[UInt8]>()
        let before = LocalPeripheral(name: "Modem") {
            LocalService(BluetoothUUID(0xA000)) { LocalCharacteristic(Bench.readOnly, [.read], value: .stored([7])) }
        }
        try await Bench.run(description: before) { server, bench in
            try await withThrowingDiscardingTaskGroup { lines in
                for try await case .connected(let central) in server.centralEvents {
                    lines.addTask {
                        let line = server.bytes(of: .nordicUART, with: central)
                        for try await text in line.chunks.assembled(until: .delimiter("\n")) { texts.add(text) }
                    }
                    try await bench.time.sleep(for: .seconds(1))
                    try server.replaceServices([LocalService.serialLine()])
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await bench.time.sleep(for: .seconds(3))
                try await link.bytes(of: .nordicUART).write("late\n".utf8)
                try await bench.time.sleep(for: .seconds(3))
            }
        }
        #expect(texts.all == [Array("late".utf8)])
    }

    @Test func `a chunk that was refused because the program was late, and is written again, comes once`()
        async throws
    {
        let texts = Recorder<[UInt8]>()
        try await Bench.run(description: Self.description) { server, bench in
            let subscriptions = server.subscriptions(of: SerialService.nordicUART.incoming)
            for try await change in subscriptions where change.isSubscribed {
                let line = server.bytes(of: .nordicUART, with: change.central)
                for try await text in line.chunks.assembled(until: .delimiter("\n")) {
                    texts.add(text)
                    if texts.all.count == 1 { try await bench.time.sleep(for: .seconds(25)) }
                }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                async let answers = link.bytes(of: .nordicUART).incoming.collect()
                try await bench.time.sleep(for: .seconds(1))
                let outgoing = SerialService.nordicUART.outgoing
                try await link.write("one\n".utf8, to: outgoing)
                let error = await bleError { try await link.write("two\n".utf8, to: outgoing) }
                #expect(error?.attError == .unlikely)
                try await bench.time.sleep(for: .seconds(10))
                try await link.write("two\n".utf8, to: outgoing)
                try await bench.time.sleep(for: .seconds(5))
                bench.peripheralAdapter.powerOff()
                _ = try? await answers
            }
        }
        #expect(texts.all.map { String(decoding: $0, as: UTF8.self) } == ["one", "two"])
    }

    @Test func `the line ends when its central leaves, and another one's goes on`() async throws {
        let ended = Recorder<BluetoothAddress>()
        let texts = Recorder<[UInt8]>()
        try await Bench.run(description: Self.description, centrals: 2) { server, _ in
            try await withThrowingDiscardingTaskGroup { lines in
                let subscriptions = server.subscriptions(of: SerialService.nordicUART.incoming)
                for try await change in subscriptions where change.isSubscribed {
                    lines.addTask {
                        let line = server.bytes(of: .nordicUART, with: change.central)
                        for try await text in line.chunks.assembled(until: .delimiter("\n")) { texts.add(text) }
                        ended.add(change.central.address)
                    }
                }
            }
        } _: { bench in
            let other = bench.air.adapter()
            let second = try await Central.open(.radio(other)).peripheral(bench.peripheralAdapter.address)
            func write(_ text: String, on link: Link) async throws {
                let line = link.bytes(of: .nordicUART)
                async let listening: [UInt8] = line.incoming.prefix(for: .seconds(20)).collect()
                try await bench.time.sleep(for: .seconds(5))
                try await line.write(text.utf8)
                _ = try await listening
            }
            try await second.withLink { link in
                try await bench.peripheral.withLink { try await write("first\n", on: $0) }
                try await bench.time.sleep(for: .seconds(5))
                #expect(ended.all == [bench.centralAdapter.address])
                try await write("second\n", on: link)
            }
            try await bench.time.sleep(for: .seconds(5))
            #expect(ended.all == [bench.centralAdapter.address, other.address])
            #expect(texts.all == [Array("first".utf8), Array("second".utf8)])
        }
    }

    @Test func `one that has left is never waited for`() async throws {
        let octets = Recorder<[UInt8]>()
        try await Bench.run(description: Self.description) { server, bench in
            for try await event in server.centralEvents {
                guard case .disconnected(let central, _) = event else { continue }
                let line = server.bytes(of: .nordicUART, with: central)
                octets.add(try await line.incoming.collect())
                let error = await bleError { try await line.write([1]) }
                #expect(error?.code == .disconnected)
            }
        } _: { bench in
            try await bench.peripheral.withLink { _ = try await $0.discover() }
            try await bench.time.sleep(for: .seconds(10))
            #expect(octets.all == [[]])
        }
    }

    @Test func `a central that subscribes anew amid what is written is not sent the rest of it`() async throws {
        let octets = (0..<6000).map { UInt8(truncatingIfNeeded: $0 * 7 + $0 / 256) }
        let outcomes = Recorder<BLEError.Code?>()
        // A radio that takes few pieces ahead, and small ones.
        let narrow = AdapterSettings(maximumPDUSize: 23, sendBufferSize: 200)
        let incoming = SerialService.nordicUART.incoming
        try await Bench.run(description: Self.description, settings: narrow) { server, _ in
            for try await change in server.subscriptions(of: incoming) where change.isSubscribed {
                do {
                    try await server.bytes(of: .nordicUART, with: change.central).write(octets)
                    outcomes.add(nil)
                } catch let error as BLEError {
                    outcomes.add(error.code)
                }
            }
        } _: { bench in
            let handle = try await bench.peripheral.withLink { link in
                try #require(try await link.discover().characteristic(incoming)).valueHandle + 1
            }
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                let heard = await central.hearAnew(configuring: handle) { $0.count >= octets.count }
                #expect(heard == octets)
                try await bench.time.sleep(for: .seconds(5))
            }
        }
        #expect(outcomes.all == [.notSupported, nil])
    }

    @Test func `a chunk that is ignored is an error that says how to get such chunks`() async throws {
        let line = SerialService.nordicUART
        let errors = Recorder<BLEError>()
        let short = LocalPeripheral(name: "Modem") {
            LocalService(line.service) {
                LocalCharacteristic(line.outgoing, [.writeWithoutResponse], value: .dynamic, maximumLength: 20)
                LocalCharacteristic(line.incoming, [.notify])
            }
        }
        try await Bench.run(description: short) { server, _ in
            for try await case .connected(let central) in server.centralEvents {
                let error = await bleError { _ = try await server.bytes(of: line, with: central).incoming.collect() }
                if let error { errors.add(error) }
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                try await link.bytes(of: line).write([UInt8](repeating: 7, count: 30))
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        let error = try #require(errors.all.first)
        #expect(errors.all.count == 1 && error.code == .overflow && error.cause == "1 chunk was dropped")
        // There is no buffer to choose.
        #expect(error.remedy.contains("write with response") && !error.remedy.contains("buffer"))
    }

    /// Answers each line, as the documentation of `LocalService.serialLine()` shows it.
    @Sendable private static func answer(_ server: PeripheralServer, _ bench: Bench) async throws {
        let commands = server.messages(to: SerialService.nordicUART.outgoing, endingWith: .delimiter("\r\n"))
        for try await command in commands {
            let line = server.bytes(of: .nordicUART, with: command.central)
            do {
                try await line.write(command.octets + Array(": OK\r\n".utf8))
            } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {
                // It has left, or listens no more: the lines of the others go on.
            } catch let error as BLEError where error.code == .overflow {
                // It has agreed on a smaller MTU meanwhile, which may have cut what it gets.
                command.central.disconnect()
            }
        }
    }

    @Test func `a central that agrees on a smaller MTU amid an answer does not end the lines of the others`()
        async throws
    {
        // Little is on its way at a time.
        let settings = AdapterSettings(sendBufferSize: 600)
        try await Bench.run(description: Self.description, settings: settings, serve: Self.answer) { bench in
            let line = try await bench.peripheral.withLink { link in
                let found = try await link.discover()
                return (
                    incoming: try #require(found.characteristic(SerialService.nordicUART.incoming)).valueHandle + 1,
                    outgoing: try #require(found.characteristic(SerialService.nordicUART.outgoing)).valueHandle
                )
            }
            try await RawCentral.connected(from: bench.centralAdapter, to: bench.peripheralAdapter.address) { central in
                #expect(await central.ask([0x02, 0x32, 0])?.first == 0x03)
                #expect(await central.ask([0x12, UInt8(line.incoming), 0, 1, 0]) == [0x13])
                let write: [UInt8] = [0x52, UInt8(line.outgoing), 0]
                for _ in 0..<100 { central.send(write + [UInt8](repeating: 0x61, count: 47)) }
                central.send(write + Array("\r\n".utf8))
                #expect(await central.next()?.first == 0x1B)
                central.send([0x02, 0x17, 0])
                try await bench.time.sleep(for: .seconds(20))
                #expect(central.end != nil)
            }
            try await bench.peripheral.withLink { link in
                let line = link.bytes(of: .nordicUART)
                async let answer = line.chunks.assembled(until: .delimiter("\r\n")).timeout(.seconds(60)).first()
                try await bench.time.sleep(for: .seconds(5))
                try await line.write("AT\r\n".utf8)
                #expect(try await answer == Array("AT: OK".utf8))
            }
        }
    }
}
