import BLEDevices
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

@Suite(.timeLimit(.minutes(10))) struct ConfigurationTests {
    private static let setting = RecordDevice.setting

    private static func wish(_ place: Int, _ value: UInt8) -> ConfigurationFlow.Setting {
        ConfigurationFlow.Setting(setting[place], [value])
    }

    /// Runs a body with a link that is up, on which the device's characteristics are known.
    private func onQueue(_ body: @escaping @Sendable (Bench, CommandQueue) async throws -> Void) async throws {
        try await Bench.run(description: RecordDevice.description) { bench in
            try await bench.peripheral.withQueue { queue in
                let queue = queue.connecting()
                _ = try await FlowTests().values(queue)
                bench.air.clearTrace()
                try await body(bench, queue)
            }
        }
    }

    /// Loses the link instead of a write of this octet.
    private static func loss(_ octet: UInt8) -> Fault {
        .dropLink(insteadOf: .where { $0.count == 4 && $0[0] == 0x12 && $0[3] == octet })
    }

    @Test func `a setting that the device has taken before the link was lost is told`() async throws {
        try await onQueue { bench, queue in
            // The answer to the write.
            bench.air.faults.add(.dropLink(insteadOf: .where { $0 == [0x13] }))
            let error = await bleError { try await queue.run(ConfigurationFlow([Self.wish(0, 1)])) }
            #expect(error?.code == .disconnected)
            #expect(error?.cause.contains("could not be restored: \(Self.setting[0].reference)") == true)
            let values = try await FlowTests().values(queue)
            #expect(values == [[1], [0], [0], [0]])
        }
    }

    /// Unlocks, sets something, and locks again.
    private static let locked = [Self.wish(0, 1), Self.wish(1, 5), Self.wish(0, 0)]

    @Test func `a characteristic that is set twice has its last value at the end`() async throws {
        try await onQueue { bench, queue in
            let former = try await queue.run(ConfigurationFlow(Self.locked))
            #expect(former == [Self.wish(1, 0)])
            #expect(bench.writes == [[1], [5], [0]])
            let values = try await FlowTests().values(queue)
            #expect(values == [[0], [5], [0], [0]])
        }
    }

    @Test func `a characteristic that is set twice is restored step by step`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(.replace(.where { $0 == [0x0B, 7] }) { _ in [0x0B, 9] })
            let error = await bleError { try await queue.run(ConfigurationFlow(Self.locked + [Self.wish(2, 7)])) }
            #expect(error?.code == .verificationFailed)
            // Back: it is unlocked again for what it protects.
            #expect(bench.writes == [[1], [5], [0], [7], [0], [1], [0], [0]])
            let values = try await FlowTests().values(queue)
            #expect(values == [[0], [0], [0], [0]])
        }
    }

    @Test func `a setting that the device has changed to another value is told if it can't be restored`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(.replace(.where { $0 == [0x0B, 2] }) { _ in [0x0B, 9] })
            bench.air.faults.add(Self.loss(0))
            let error = await bleError {
                try await queue.run(ConfigurationFlow([Self.wish(0, 1), Self.wish(1, 2)]))
            }
            #expect(error?.code == .verificationFailed)
            let names = Self.setting[..<2].map { "\($0.reference)" }.joined(separator: ", ")
            #expect(error?.cause.contains("could not be restored: \(names)") == true)
        }
    }

    @Test func `a characteristic that is set twice is told once if it can't be restored`() async throws {
        try await onQueue { bench, queue in
            bench.air.faults.add(Self.loss(7))
            let error = await bleError { try await queue.run(ConfigurationFlow(Self.locked + [Self.wish(2, 7)])) }
            #expect(error?.code == .disconnected)
            let names = Self.setting[..<3].map { "\($0.reference)" }.joined(separator: ", ")
            #expect(error?.cause.hasSuffix("could not be restored: \(names)") == true, "\(error?.cause ?? "")")
        }
    }

    @Test func `a setting that is refused again is not told, but the one that was changed before it`() async throws {
        try await onQueue { bench, queue in
            try await queue.run(.write([9], to: Self.setting[1]))
            // The device takes neither the new value of this setting nor the old one.
            for octet in [UInt8(2), 9] {
                bench.air.faults.add(
                    .replace(.where { $0.count == 4 && $0[0] == 0x12 && $0[3] == octet }, with: [0x12, 1, 0, octet])
                )
            }
            let flow = ConfigurationFlow([Self.wish(0, 1), Self.wish(1, 2)])
            for _ in 0..<2 {
                let error = await bleError { try await queue.run(flow) }
                #expect(error?.code == .attributeError && error?.cause.contains("could not be restored") == false)
                let values = try await FlowTests().values(queue)
                #expect(values == [[0], [9], [0], [0]])
            }
            bench.air.faults.add(Self.loss(0))
            let error = await bleError { try await queue.run(flow) }
            #expect(error?.code == .attributeError)
            #expect(error?.cause.contains("could not be restored: \(Self.setting[0].reference)") == true)
            #expect(error?.cause.contains("\(Self.setting[1].reference)") == false)
        }
    }

    @Test func `a setting that was refused is as somebody else has set it since`() async throws {
        try await onQueue { bench, queue in
            try await queue.run(.write([9], to: Self.setting[1]))
            // The device takes nothing: it is locked.
            bench.air.faults.add(.replace(.where { $0.count == 4 && $0[0] == 0x12 }, with: [0x12, 1, 0, 0]))
            let flow = ConfigurationFlow([Self.wish(1, 2), Self.wish(2, 3)])
            #expect(await bleError { try await queue.run(flow) }?.code == .attributeError)
            bench.air.faults.removeAll()
            try await queue.run(.write([7], to: Self.setting[1]))
            // It goes back to that value, too, if the next run fails.
            bench.air.faults.add(.replace(.where { $0 == [0x0B, 3] }) { _ in [0x0B, 4] }.times(1))
            #expect(await bleError { try await queue.run(flow) }?.code == .verificationFailed)
            let values = try await FlowTests().values(queue)
            #expect(values == [[0], [7], [0], [0]])
            bench.air.faults.removeAll()
            let former = try await queue.run(flow)
            #expect(former == [Self.wish(1, 7), Self.wish(2, 0)])
        }
    }
}
