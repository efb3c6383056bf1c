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
        let judging = LocalPeripheral(name: "Judge") {
            LocalService(MessageBench.service) {
                LocalCharacteristic(
                    MessageBench.inbound,
                    [.read, .writeWithoutResponse],
                    value: .stored([]),
                    write: { value, _ in
                        guard value == [2, 2] else { return }
                        switch refusal {
                        case .code: throw ATTError.valueNotAllowed
                        case .error: throw Broken()
                        case .delay: try await times.all[0].sleep(for: .seconds(3600))
                        }
                    }
                )
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
}
