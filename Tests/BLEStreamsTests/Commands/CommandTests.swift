import BLESimulator
import BLEStreams
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct CommandTests {
    /// A link in virtual time.
    func onLink(
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await _ in server.centralEvents {}
        },
        _ body: @escaping @Sendable (Bench, Link) async throws -> Void
    ) async throws {
        try await Bench.run(serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                try await body(bench, link)
            }
        }
    }

    @Test func `ready-made commands read and write`() async throws {
        try await onLink { _, link in
            try await link.run(.write([5, 6], to: Bench.readable))
            let value = try await link.run(.read(Bench.readable))
            #expect(Array(value) == [5, 6])
            let typed = TypedCharacteristic<UInt16>(Bench.readable) { reader throws(MalformedValue) in
                try reader.uint16()
            }
            let number = try await link.run(.read(typed))
            #expect(number == 0x0605)
        }
    }

    @Test func `one command follows another, and gets its result`() async throws {
        try await onLink { _, link in
            let both = CommandBlock.write([5], to: Bench.readable).then(.read(Bench.readable))
            #expect(both.name == "write A001, read A001")
            let value = try await link.run(both)
            #expect(Array(value) == [5])
            let read = CommandBlock.read(Bench.readable)
            try await link.run(read.then { value in CommandBlock.write(value.map { $0 + 1 }, to: Bench.readable) })
            try await link.expect(Bench.readable, reads: [6])
        }
    }

    @Test func `a group does its steps in order, and ends with the first that fails`() async throws {
        try await onLink { bench, link in
            bench.air.clearTrace()
            let group = CommandBlock.group("set up") {
                CommandBlock.write([1], to: Bench.readable)
                CommandBlock.read(Bench.readable)
                for uuid in [BluetoothUUID(0xBEEF), Bench.readOnly] { CommandBlock.read(uuid) }
                CommandBlock.write([2], to: Bench.readable)
            }
            #expect(await bleError { try await link.run(group) }?.code == .notFound)
            #expect(bench.sent(by: .central).map { $0[0] } == [0x12, 0x0A])
        }
    }

    @Test func `a time limit inside of a retry is that of each attempt`() async throws {
        try await onLink { bench, link in
            bench.air.faults.add(.swallow(.readResponses).times(1))
            bench.air.faults.add(.delay(.readResponses, by: .seconds(3)))
            let read = CommandBlock.read(Bench.readable)
            // 30 s: the answer that never came takes the slot until then, and the bearer with it.
            let error = await bleError {
                try await link.run(read.timeout(.seconds(2)).retry(.constant(.seconds(1), attempts: 2)))
            }
            #expect(error?.code == .timedOut && error?.elapsed == .seconds(2) && bench.time.now < .seconds(20))
        }
    }

    @Test func `a time limit outside of a retry is that of all attempts`() async throws {
        try await onLink { bench, link in
            let attempts = Mutex(0)
            let command = CommandBlock("try") { _ in
                attempts.withLock { $0 += 1 }
                throw BLEError(.busy, operation: "try", cause: "always")
            }
            let before = bench.time.now
            let error = await bleError {
                try await link.run(command.retry(.constant(.seconds(1))).timeout(.milliseconds(3500)))
            }
            #expect(error?.code == .timedOut && error?.operation == "try")
            #expect(attempts.withLock { $0 } == 4 && bench.time.now - before == .milliseconds(3500))
        }
    }

    @Test func `what can't change isn't tried again, and what can is until it works`() async throws {
        try await onLink { bench, link in
            let attempts = Mutex(0)
            let flaky = CommandBlock("flaky") { _ in
                let number = attempts.withLock { count in
                    count += 1
                    return count
                }
                if number < 3 { throw BLEError(.busy, operation: "flaky", cause: "not yet") }
                return number
            }
            let number = try await link.run(flaky.retry(.immediate(attempts: 5)))
            #expect(number == 3)
            let read = CommandBlock.read(BluetoothUUID(0xBEEF))
            let before = bench.time.now
            #expect(await bleError { try await link.run(read.retry()) }?.code == .notFound)
            #expect(bench.time.now == before)
        }
    }

    @Test func `a command that hangs is ended by its time limit, and the link goes on`() async throws {
        try await onLink { bench, link in
            let hanging: CommandBlock<CharacteristicValue> = .wait(for: Bench.counter) { $0[0] == 200 }
            let error = await bleError { try await link.run(hanging.timeout(.seconds(5))) }
            #expect(error?.code == .timedOut && error?.operation == "wait for A007")
            try await link.expect(Bench.readOnly, reads: [7])
            #expect(bench.writes == [[1, 0], [0, 0]])
        }
    }

    @Test func `a request gets the answer that comes at once`() async throws {
        try await onLink { server, _ in
            for try await write in server.writes(to: Bench.dynamic) {
                // Before the write is answered.
                try await server.notify([write.value[0], 1], of: Bench.dynamic, to: write.central)
                try await server.notify([write.value[0], 2], of: Bench.dynamic, to: write.central)
                write.accept()
            }
        } _: { bench, link in
            let first = try await link.run(.request([7], to: Bench.dynamic, answeredOn: Bench.dynamic))
            #expect(Array(first) == [7, 1])
            let second = try await link.run(
                .request([8], to: Bench.dynamic, answeredOn: Bench.dynamic, where: { $0.last == 2 })
            )
            #expect(Array(second) == [8, 2])
            let error = await bleError {
                try await link.run(
                    .request(
                        [9],
                        to: Bench.dynamic,
                        answeredOn: Bench.dynamic,
                        timeout: .seconds(3),
                        where: { $0.isEmpty }
                    )
                )
            }
            #expect(error?.code == .timedOut && error?.operation == "request")
            try await link.expect(Bench.readOnly, reads: [7])
            // Each has switched its subscription off again.
            let switches = bench.writes.filter { $0.count == 2 }.map { $0[0] }
            #expect(switches == [1, 0, 1, 0, 1, 0])
        }
    }

    @Test func `values, messages and conditions are waited for`() async throws {
        try await onLink { server, bench in
            for try await change in server.subscriptions() where change.isSubscribed {
                switch BluetoothUUID(change.characteristic) {
                case Bench.notifying: try await server.send("hello".utf8, of: Bench.notifying, to: change.central)
                case Bench.counter:
                    for value in UInt8(10)...12 {
                        try await bench.time.sleep(for: .seconds(1))
                        try await server.notify([value], of: Bench.counter, to: change.central)
                    }
                default: break
                }
            }
        } _: { _, link in
            let message = try await link.run(.transfer(from: Bench.notifying))
            #expect(message == Array("hello".utf8))
            let value = try await link.run(.wait(for: Bench.counter) { $0[0] == 11 })
            #expect(Array(value) == [11])
            let already = try await link.run(.wait(for: Bench.counter) { $0[0] == 9 })
            #expect(Array(already) == [9])
            let values = try await link.run(.subscribe(to: Bench.counter, taking: 2))
            #expect(values.count == 2)
        }
    }

    @Test func `a link that is somebody else's is neither made nor ended`() async throws {
        try await onLink { _, link in
            #expect(await bleError { try await link.run(.disconnect) }?.code == .notSupported)
            try await link.run(.connect)
            try await link.expect(Bench.readOnly, reads: [7])
        }
    }
}
