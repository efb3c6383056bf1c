import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Messages in chunks that a closure checks before they are put together.
@Suite(.timeLimit(.minutes(10))) struct JudgedMessagesTests {
    private struct Broken: Error {}

    /// How the closure refuses a chunk.
    enum Refusal: CaseIterable {
        case code, error, delay
    }

    @Test(arguments: Refusal.allCases)
    func `a chunk without response that the closure refuses costs the link, and is not left out in silence`(
        refusal: Refusal
    ) async throws {
        let (taken, warnings) = (Recorder<[UInt8]>(), Recorder<BLEError>())
        let times = Recorder<VirtualTime>()
        let judging = MessageBench.judging { value, _ in
            guard value == [2, 2] else { return }
            switch refusal {
            case .code: throw ATTError.valueNotAllowed
            case .error: throw Broken()
            case .delay: try await times.all[0].sleep(for: .seconds(3600))
            }
        }
        try await Bench.run(description: judging, warnings: warnings) { server, bench in
            times.add(bench.time)
            for try await message in server.messages(to: MessageBench.inbound) { taken.add(message.octets) }
        } _: { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.send([0], to: MessageBench.inbound, .withoutResponse)
                    for chunk in [[1, 1], [2, 2], [3, 3], Array("EOM".utf8)] as [[UInt8]] {
                        try await link.write(chunk, to: MessageBench.inbound, .withoutResponse)
                    }
                    try await bench.time.sleep(for: .seconds(60))
                    _ = try await link.read(MessageBench.inbound)
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all == [[0]])
        #expect(warnings.all.contains { $0.operation == "messages" && $0.cause.contains("closure refused") })
    }

    /// A peripheral that accepts each chunk by itself, or has a closure do so.
    private static func accepting(isJudged: Bool) -> LocalPeripheral {
        LocalPeripheral(name: "Accepting") {
            LocalService(MessageBench.service) {
                if isJudged {
                    LocalCharacteristic(MessageBench.inbound, [.write], value: .dynamic) { _, _ in }
                } else {
                    LocalCharacteristic(MessageBench.inbound, [.write])
                }
                LocalCharacteristic(MessageBench.outbound, [.read], value: .stored([0]))
            }
        }
    }

    /// Takes a message every ten seconds, and hears nothing in between.
    private static func takingOneByOne(
        _ taken: Recorder<[UInt8]>,
        endingWith mark: EndMark = .endOfMessage()
    ) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            while true {
                let message = try await server.messages(to: MessageBench.inbound, endingWith: mark).first()
                taken.add(message.octets)
                try await bench.time.sleep(for: .seconds(10))
            }
        }
    }

    @Test(arguments: [EndMark.endOfMessage(), .endOfMessage(atEndOfChunk: "EOM"), .delimiter("EOM")])
    func `whole messages that are accepted between two iterations cost no link`(mark: EndMark) async throws {
        let (taken, warnings) = (Recorder<[UInt8]>(), Recorder<BLEError>())
        let serve = Self.takingOneByOne(taken, endingWith: mark)
        try await Bench.run(description: Self.accepting(isJudged: false), warnings: warnings, serve: serve) { bench in
            try await bench.peripheral.withLink { link in
                for octet in 1...4 as ClosedRange<UInt8> {
                    try await link.send([octet, octet], to: MessageBench.inbound, endingWith: mark)
                    let pause = octet < 3 ? 1 : 15
                    try await bench.time.sleep(for: .seconds(pause))
                }
                _ = try await link.read(MessageBench.outbound)
            }
        }
        #expect(taken.all == [[1, 1], [4, 4]])
        #expect(warnings.all.isEmpty)
    }

    @Test(arguments: [true, false])
    func `a chunk that is accepted between two iterations is not left out in silence`(isJudged: Bool) async throws {
        let (taken, warnings) = (Recorder<[UInt8]>(), Recorder<BLEError>())
        let serve = Self.takingOneByOne(taken)
        let accepting = Self.accepting(isJudged: isJudged)
        try await Bench.run(description: accepting, warnings: warnings, serve: serve) { bench in
            let error = await bleError {
                try await bench.peripheral.withLink { link in
                    try await link.send([1], to: MessageBench.inbound)
                    try await bench.time.sleep(for: .seconds(1))
                    try await link.write([2, 2], to: MessageBench.inbound)
                    try await bench.time.sleep(for: .seconds(15))
                    // The rest.
                    try await link.send([3, 3], to: MessageBench.inbound)
                    try await bench.time.sleep(for: .seconds(1))
                    _ = try await link.read(MessageBench.outbound)
                }
            }
            #expect(error?.code == .disconnected)
        }
        #expect(taken.all == [[1]])
        #expect(warnings.all.contains { $0.cause.contains("before one was complete or taken") })
    }

    /// A central on one of its links, for as long as anybody else keeps it.
    private struct Visit: Sendable {
        weak var central: ConnectedCentral?
    }

    @Test func `centrals that lose their links for a chunk that the closure refuses are not kept`() async throws {
        let visits = Recorder<Visit>()
        let judging = MessageBench.judging { _, central in
            visits.add(Visit(central: central))
            throw ATTError.valueNotAllowed
        }
        try await Bench.run(description: judging) { server, _ in
            for try await _ in server.messages(to: MessageBench.inbound) {}
        } _: { bench in
            for _ in 0..<8 {
                try await bench.peripheral.withLink { link in
                    try await link.write([1, 1], to: MessageBench.inbound, .withoutResponse)
                    try await bench.time.sleep(for: .seconds(10))
                }
            }
            // The last one goes with the next one.
            #expect(visits.all.count == 8)
            #expect(visits.all.filter { $0.central != nil }.count <= 2)
        }
    }
}
