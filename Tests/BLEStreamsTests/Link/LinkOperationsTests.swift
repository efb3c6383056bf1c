import BLESimulator
import BLEStreams
import Testing

@Suite(.timeLimit(.minutes(10))) struct LinkOperationsTests {
    @Test func `the whole tree of services is discovered`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let database = try await link.discover()
                #expect(database.services.map(\.uuid) == [0x1800, 0x1801, 0xA000].map { BluetoothUUID($0) })
                let service = try #require(database.service(BluetoothUUID(0xA000)))
                #expect(service.characteristics.map(\.uuid) == (0xA001...0xA007).map { BluetoothUUID($0) })
                #expect(service.characteristic(Bench.notifying)?.clientConfiguration != nil)
                #expect(link.mtu == 517)
            }
        }
    }

    @Test func `short and long values are read whole`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                try await link.expect(Bench.readable, reads: [1, 2, 3])
                try await link.expect(Bench.long, reads: Bench.longValue)
            }
        }
    }

    @Test func `values are written in each of the three ways`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                try await link.write([4, 5], to: Bench.readable)
                try await link.expect(Bench.readable, reads: [4, 5])
                try await link.write([6], to: Bench.readable, .withoutResponse)
                try await link.expect(Bench.readable, reads: [6])
                let long = [UInt8](repeating: 0xAB, count: 512)
                try await link.write(long, to: Bench.long, .reliable)
                try await link.expect(Bench.long, reads: long)
            }
        }
    }

    @Test func `dynamic values are asked for and may be refused`() async throws {
        try await Bench.run { server, _ in
            for try await request in server.reads(of: Bench.dynamic) {
                try request.respond([UInt8](repeating: 3, count: 512))
                break
            }
            for try await request in server.writes(to: Bench.dynamic) {
                #expect(request.awaitsAnswer && request.value == [1])
                request.reject(.valueNotAllowed)
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                let value = try await link.read(Bench.dynamic)
                #expect(value.count == 512)
                let error = await bleError { try await link.write([1], to: Bench.dynamic) }
                #expect(error?.code == .attributeError && error?.attError == .valueNotAllowed)
                // Nobody answers reads any more: the server does, so that no central waits for nothing.
                #expect(await bleError { _ = try await link.read(Bench.dynamic) }?.attError == .unlikely)
            }
        }
    }

    @Test func `an unknown characteristic and a forbidden write are told without a request`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                let unknown = await bleError { _ = try await link.read(BluetoothUUID(0xBEEF)) }
                #expect(unknown?.code == .notFound && unknown?.remedy.contains("Link.discover()") == true)
                bench.air.clearTrace()
                #expect(await bleError { try await link.write([1], to: Bench.readOnly) }?.code == .notSupported)
                let tooLong = [UInt8](repeating: 0, count: 600)
                #expect(await bleError { try await link.write(tooLong, to: Bench.readable) }?.code == .overflow)
                #expect(bench.sent(by: .central).isEmpty)
            }
        }
    }

    @Test func `a cancelled read returns at once and doesn't disturb the next`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.faults.add(.delay(.readResponses, by: .seconds(20)))
                let before = bench.time.now
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        await #expect(throws: CancellationError.self) { try await link.read(Bench.readable) }
                    }
                    try? await bench.time.sleep(for: .seconds(1))
                    group.cancelAll()
                }
                #expect(bench.time.now - before < .seconds(2))
                try await link.expect(Bench.readOnly, reads: [7])
            }
        }
    }

    @Test func `a read with a time limit names the operation`() async throws {
        try await Bench.run { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.faults.add(.swallow(.readRequests))
                let error = await bleError { _ = try await link.read(Bench.readable, timeout: .seconds(3)) }
                #expect(error?.code == .timedOut && error?.operation == "read" && error?.elapsed == .seconds(3))
                #expect(error?.object.contains("A001") == true)
            }
        }
    }

    @Test func `a peripheral that never answers loses the link after 30 s`() async throws {
        try await Bench.run { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    _ = try await link.discover()
                    bench.air.faults.add(.swallow(.readRequests))
                    let begin = bench.time.now
                    let error = await bleError { _ = try await link.read(Bench.readable) }
                    #expect(error?.code == .timedOut && error?.reason?.kind == .transactionTimeout)
                    #expect(bench.time.now - begin >= .seconds(30) && bench.time.now - begin < .seconds(31))
                    _ = try await link.read(Bench.readOnly)
                }
            }
            #expect(error?.code == .disconnected && error?.reason?.kind == .transactionTimeout)
            #expect(bench.centralAdapter.activity.links.isEmpty)
        }
    }

    @Test func `operations after the link was lost say why`() async throws {
        try await Bench.run { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    _ = try await link.discover()
                    bench.air.faults.add(.dropLink(insteadOf: .readRequests, reason: .closedByPeer))
                    #expect(await bleError { _ = try await link.read(Bench.readable) }?.code == .disconnected)
                    _ = try await link.read(Bench.readable)
                }
            }
            #expect(error?.code == .disconnected && error?.reason?.kind == .closedByPeer)
        }
    }
}
