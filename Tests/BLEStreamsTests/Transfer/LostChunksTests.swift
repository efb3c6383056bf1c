import BLESimulator
import BLEStreams
import Testing

/// What centrals write without response, and the kernel has no room for: nobody but the kernel knows of it.
@Suite(.timeLimit(.minutes(10))) struct LostChunksTests {
    /// Takes no writes without response.
    private static let answering = BluetoothUUID(0xD003)

    private static let description: LocalPeripheral = {
        var description = MessageBench.description
        description.services.append(
            LocalService(BluetoothUUID(0xE000)) { LocalCharacteristic(answering, [.write], value: .dynamic) }
        )
        return description
    }()

    private struct Heard: Sendable {
        let messages = Recorder<[UInt8]>()
        let gaps = Recorder<Int>()
        let warnings = Recorder<BLEError>()
    }

    /// Runs a body beside a peripheral that takes messages to one characteristic, and all writes to another one.
    private func run(
        messagesTo uuid: BluetoothUUID,
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws -> Heard {
        let heard = Heard()
        try await Bench.run(description: Self.description, warnings: heard.warnings) { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await message in server.messages(to: uuid) { heard.messages.add(message.octets) }
                }
                group.addTask {
                    for try await write in server.writes(to: MessageBench.inbound).withGaps() {
                        switch write {
                        case .gap(let gap): heard.gaps.add(gap.dropped)
                        case .value(let write): write.accept()
                        }
                    }
                }
                try await group.waitForAll()
            }
        } _: { bench in
            try await body(bench)
        }
        return heard
    }

    /// Writes four chunks without response, of which the kernel loses the second one.
    private static func write(_ link: Link, _ bench: Bench) async throws {
        bench.air.faults.add(.overflow(.writeCommands).skipping(1).times(1))
        for chunk: [UInt8] in [[1, 2], [3, 4], [5, 6], Array("EOM".utf8)] {
            try await link.write(chunk, to: MessageBench.inbound, .withoutResponse)
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    @Test func `a chunk that the kernel has lost costs the link, and leaves no hole in a message`() async throws {
        let heard = try await run(messagesTo: MessageBench.inbound) { bench in
            let error = await bleError { try await bench.peripheral.withLink { try await Self.write($0, bench) } }
            #expect(error?.code == .disconnected)
            try await bench.peripheral.withLink { link in
                try await link.send([7], to: MessageBench.inbound, .withoutResponse)
                try await bench.time.sleep(for: .seconds(1))
            }
        }
        #expect(heard.messages.all == [[7]])
        #expect(heard.gaps.all == [1])
        #expect(heard.warnings.all.map(\.code) == [.overflow])
        #expect(heard.warnings.all.first?.cause.hasPrefix("the kernel had no room for") == true)
    }

    @Test func `where each chunk has its answer, a loss of the kernel costs no link and no message`() async throws {
        let heard = try await run(messagesTo: Self.answering) { bench in
            try await bench.peripheral.withLink { link in
                try await link.send([8], to: Self.answering)
                try await Self.write(link, bench)
                try await link.send([9], to: Self.answering)
            }
        }
        #expect(heard.messages.all == [[8], [9]])
        #expect(heard.gaps.all == [1] && heard.warnings.all.isEmpty)
    }
}
