import BLESimulator
import BLEStreams
import Testing

/// In which order a command gives up what it has begun: in virtual time, a seed gives the same PDUs each time.
@Suite(.timeLimit(.minutes(10))) struct UnsubscribingTests {
    private static let measured = (0..<8).map { BluetoothUUID(0xB001 + UInt16($0)) }

    private static let description = LocalPeripheral(name: "Bench") {
        LocalService(BluetoothUUID(0xB000)) {
            for uuid in measured { LocalCharacteristic(uuid, [.notify]) }
        }
    }

    @Test func `a command's subscriptions end in the order in which they were made`() async throws {
        try await Bench.run(description: Self.description) { bench in
            let flow = CommandBlock<Void>("measure") { context in
                for uuid in Self.measured { try await context.subscribe(to: uuid) }
            }
            try await bench.peripheral.withQueue { queue in
                try await queue.connecting().run(flow)
                // The link goes on.
                try await bench.time.sleep(for: .seconds(2))
            }
            let off = bench.sent(by: .central).filter { $0.count == 5 && $0[0] == 0x12 && $0[3...] == [0, 0] }
            let handles = off.map { UInt16($0[1]) | UInt16($0[2]) << 8 }
            #expect(handles.count == Self.measured.count && handles == handles.sorted(), "\(handles)")
        }
    }
}
