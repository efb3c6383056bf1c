import BLESimulator
import BLEStreams
import Testing

/// Peripherals that don't keep to the Attribute Protocol, against a central of ours.
@Suite(.timeLimit(.minutes(10))) struct MisbehavingPeripheralTests {
    /// So many requests are more than any discovery of the bench's services takes.
    private static let enough = 64

    private func onLink(
        _ faults: [Fault] = [],
        _ body: @escaping @Sendable (Link, Bench) async throws -> Void
    ) async throws {
        try await Bench.run { bench in
            for fault in faults { bench.air.faults.add(fault) }
            try await bench.peripheral.withLink { link in try await body(link, bench) }
        }
    }

    @Test func `a response that nobody asked for is ignored`() async throws {
        try await onLink([.duplicate(.responses, copies: 3)]) { link, _ in
            for _ in 0..<5 { try await link.expect(Bench.readable, reads: [1, 2, 3]) }
            try await link.write([4], to: Bench.readable)
            try await link.expect(Bench.readable, reads: [4])
        }
    }

    @Test func `a response to something else is ignored, and without a true one the link ends`() async throws {
        try await onLink { link, bench in
            _ = try await link.discover()
            bench.air.faults.add(.replace(.readResponses, with: [0x13]).times(1))
            let error = await bleError { _ = try await link.read(Bench.readable) }
            #expect(error?.code == .timedOut && error?.reason?.kind == .transactionTimeout)
            #expect(link.ignoredPDUs == 1)
            let next = await bleError { _ = try await link.read(Bench.readable) }
            #expect(next?.code == .disconnected)
        }
    }

    @Test(
        arguments: [
            // Read By Group Type: the same group again and again; its end before its start; an entry of no octets; cut
            // off.
            [0x11, 0x06, 0x01, 0x00, 0x05, 0x00, 0x00, 0x18], [0x11, 0x06, 0x10, 0x00, 0x05, 0x00, 0x00, 0x18],
            [0x11, 0x00], [0x11, 0x06, 0x01, 0x00], [0x11], [0x11, 0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18],
            [0x11, 0x06, 0xFF, 0xFF, 0x01, 0x00, 0x00, 0x18],
        ] as [[UInt8]]
    )
    func `services that lead nowhere end the discovery`(_ answer: [UInt8]) async throws {
        try await onLink([.replace(.opcode(0x11), with: answer)]) { link, bench in
            do {
                let database = try await link.discover()
                #expect(database.services.allSatisfy { $0.handle <= $0.endHandle })
            } catch let error as BLEError {
                #expect(error.code == .protocolViolation)
            }
            #expect(bench.sent(by: .central).count < Self.enough)
            #expect(link.mtu == 517)
        }
    }

    @Test(
        arguments: [
            // Read By Type, as for characteristics and includes; Find Information, as for descriptors.
            [0x09, 0x07, 0x02, 0x00, 0x02, 0x03, 0x00, 0x00, 0x2A], [0x09, 0x00], [0x09, 0x01, 0x05],
            [0x09, 0x07, 0x02],
            [0x05, 0x01, 0x01, 0x00, 0x02, 0x29], [0x05, 0x03, 0x01, 0x00], [0x05, 0x01, 0x05, 0x00], [0x05],
        ] as [[UInt8]]
    )
    func `characteristics and descriptors that lead nowhere end the discovery`(_ answer: [UInt8]) async throws {
        try await onLink([.replace(.opcode(answer[0]), with: answer)]) { link, bench in
            do {
                _ = try await link.discover()
            } catch let error as BLEError {
                #expect(error.code == .protocolViolation)
            }
            #expect(bench.sent(by: .central).count < Self.enough)
        }
    }

    @Test func `an MTU below 23 counts as 23`() async throws {
        try await onLink([.replace(.opcode(0x03), with: [0x03, 0x05, 0x00])]) { link, _ in
            #expect(link.mtu == 23)
            try await link.expect(Bench.long, reads: Bench.longValue)
        }
    }

    @Test func `a value that is longer than the MTU is cut there and read on`() async throws {
        try await onLink([.replace(.opcode(0x03), with: [0x03, 0x17, 0x00])]) { link, bench in
            _ = try await link.discover()
            bench.air.faults.add(.replace(.readResponses) { $0 + [UInt8](repeating: 0xEE, count: 400) })
            let value = try await link.read(Bench.readOnly)
            #expect(value.first == 7 && value.count <= 512)
        }
    }

    @Test func `a value without an end is read to 512 octets`() async throws {
        let full = [UInt8](repeating: 1, count: 516)
        try await onLink([
            .replace(.readResponses, with: [0x0B] + full), .replace(.opcode(0x0D), with: [0x0D] + full),
        ]) { link, bench in
            let value = try await link.read(Bench.long)
            #expect(Array(value) == [UInt8](repeating: 1, count: 512))
            #expect(bench.sent(by: .central).count < Self.enough)
        }
    }

    @Test func `an indication before the last one was confirmed is delivered and confirmed too`() async throws {
        try await Bench.run { server, _ in
            for try await change in server.subscriptions(of: Bench.indicating) where change.isSubscribed {
                try await server.indicate([1], of: Bench.indicating, to: change.central)
            }
        } _: { bench in
            bench.air.faults.add(.duplicate(.opcode(0x1D), copies: 2))
            try await bench.peripheral.withLink { link in
                let values = try await link.notifications(of: Bench.indicating).collect(3)
                #expect(values.map(Array.init) == [[1], [1], [1]])
            }
            #expect(bench.sent(by: .central).filter { $0 == [0x1E] }.count == 3)
        }
    }

    @Test func `notifications without a handle, or for nobody, change nothing`() async throws {
        try await Bench.run(serve: Bench.sendNumbers(500)) { bench in
            bench.air.faults.add(
                .replace(.notifications.sent(by: .peripheral)) {
                    $0[3] % 2 == 0 ? [0x1B, 0x01] : [0x1B, 0xEE, 0xEE, 1]
                }
            )
            try await bench.peripheral.withLink { link in
                let nothing = await bleError {
                    for try await _ in link.notifications(of: Bench.notifying).timeout(.seconds(5)) {}
                }
                #expect(nothing?.code == .timedOut)
                try await link.expect(Bench.readable, reads: [1, 2, 3])
            }
        }
    }

    @Test func `a Service Changed that makes no sense has everything discovered again`() async throws {
        try await Bench.run { server, bench in
            for try await write in server.writes() where write.value == [0xFF] {
                bench.air.faults.add(.replace(.indications, by: { Array($0.prefix(3)) + [0x09, 0x00, 0x01, 0x00] }))
                try server.replaceServices(
                    [
                        LocalService(BluetoothUUID(0xA000)) {
                            LocalCharacteristic(BluetoothUUID(0xA0FF), [.read], value: .stored([1]))
                            LocalCharacteristic(Bench.readable, [.read], value: .stored([9]))
                        }
                    ]
                )
            }
        } _: { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                try await link.write([0xFF], to: Bench.readable)
                try await link.expect(Bench.readable, reads: [9])
            }
        }
    }
}
