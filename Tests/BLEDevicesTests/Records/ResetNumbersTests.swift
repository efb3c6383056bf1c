import BLEDevices
import BLESimulator
import BLEStreams
import Synchronization
import Testing

@testable import BLEStreamsTests

/// Devices that begin the numbers of their records anew.
@Suite(.timeLimit(.minutes(10))) struct ResetNumbersTests {
    /// How a control point takes the operator "last record".
    enum Last: Sendable {
        case known
        case unknown
        /// The request itself is refused.
        case refused
        /// Nothing comes of it.
        case ignored
    }

    /// A device whose records the test chooses.
    private final class ChangingDevice: Sendable {
        private let numbers: Mutex<[Int]>
        private let last: Last
        /// The first number of each report over plain characteristics.
        let requested = Recorder<Int>()
        let acknowledged = Recorder<Int>()

        init(_ numbers: Range<Int>, last: Last = .known) {
            self.numbers = Mutex(Array(numbers))
            self.last = last
        }

        private var all: [Int] { numbers.withLock { $0 } }

        func change(to new: some Sequence<Int> & Sendable) { numbers.withLock { $0 = Array(new) } }

        func live(_ server: PeripheralServer) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await write in server.writes(to: RecordDevice.control) {
                        write.accept()
                        let number = Int(UInt32(octets: write.value.dropFirst()))
                        guard write.value.first == 1 else {
                            self.acknowledged.add(number)
                            continue
                        }
                        self.requested.add(number)
                        let records = self.all.filter { $0 >= number }
                            .map { UInt32($0).octets + RecordDevice.record($0) }
                        for octets in records + [UInt32.max.octets] {
                            _ = try? await server.notify(octets, of: RecordDevice.records, to: write.central)
                        }
                    }
                }
                group.addTask {
                    for try await write in server.writes(to: RecordDevice.controlPoint) {
                        let command = Array(write.value)
                        if command == [1, 6], self.last == .refused {
                            write.reject(.valueNotAllowed)
                            continue
                        }
                        write.accept()
                        if command == [1, 6], self.last == .ignored { continue }
                        let records = self.selected(by: command)
                        for number in records {
                            let octets = [0, UInt8(number), 0] + RecordDevice.record(number)
                            _ = try? await server.notify(octets, of: RecordDevice.glucose, to: write.central)
                        }
                        let outcome: UInt8 =
                            command == [1, 6] && self.last == .unknown ? 4 : records.isEmpty ? 6 : 1
                        let answer = [6, 0, command[0], outcome]
                        _ = try? await server.indicate(answer, of: RecordDevice.controlPoint, to: write.central)
                    }
                }
                try await group.waitForAll()
            }
        }

        private func selected(by command: [UInt8]) -> [Int] {
            let all = all
            if command == [1, 6] { return last == .known ? Array(all.suffix(1)) : [] }
            guard command.count == 5 else { return all }
            return all.filter { $0 >= Int(command[3]) | Int(command[4]) << 8 }
        }

        /// Runs a body beside the device.
        func run(_ body: @escaping @Sendable (CommandQueue) async throws -> Void) async throws {
            let serve: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
                try await self.live(server)
            }
            try await Bench.run(description: RecordDevice.description, serve: serve) { bench in
                try await bench.peripheral.withQueue { try await body($0.connecting()) }
            }
        }
    }

    @Test(arguments: [0, 1]) func `a device that was reset is told, and a new flow has its records`(
        transport: Int
    ) async throws {
        let device = ChangingDevice(0..<100)
        try await device.run { queue in
            let (stored, again) = (Recorder<Int>(), Recorder<Int>())
            let flow = FlowTests.synchronization(transport, stored)
            let count = try await queue.run(flow)
            #expect(count == 100)
            device.change(to: Array(0..<30))
            let requests = device.requested.all.count
            let error = await bleError { try await queue.retrying(.constant(.seconds(1), attempts: 3)).run(flow) }
            #expect(error?.code == .recordsReset && error?.isFinal == true)
            #expect(error?.cause.contains("has number 29, and record 99 is stored") == true)
            #expect(stored.all == Array(0..<100))
            if transport == 0 {
                #expect(device.requested.all.dropFirst(requests).elementsEqual([100, 99, 0]))
                #expect(device.acknowledged.all.last == 99)
            }
            // What the remedy says.
            #expect(error?.remedy.contains("`after: nil`") == true)
            let rest = try await queue.run(FlowTests.synchronization(transport, again))
            #expect(rest == 30 && again.all == Array(0..<30))
        }
    }

    @Test(arguments: [0, 1], [100..<100, 99..<100, 50..<100])
    func `one that has deleted what is stored has nothing new`(transport: Int, rest: Range<Int>) async throws {
        let device = ChangingDevice(0..<100)
        try await device.run { queue in
            let flow = FlowTests.synchronization(transport, Recorder())
            let count = try await queue.run(flow)
            device.change(to: rest)
            let none = try await queue.run(flow)
            device.change(to: rest.lowerBound..<102)
            let new = try await queue.run(flow)
            #expect(count == 100 && none == 0 && new == 2)
        }
    }

    @Test func `behind the greatest number of a control point, a device that goes on is told`() async throws {
        let device = ChangingDevice(0..<5)
        try await device.run { queue in
            let error = await bleError { try await queue.run(FlowTests.synchronization(1, after: 65_535, Recorder())) }
            #expect(error?.code == .recordsReset && error?.cause.contains("has number 4") == true)
        }
    }

    @Test(arguments: [Last.unknown, .refused, .ignored])
    func `a control point that can't tell the latest record has nothing new`(last: Last) async throws {
        let device = ChangingDevice(0..<5, last: last)
        try await device.run { queue in
            let count = try await queue.run(FlowTests.synchronization(1, after: 99, Recorder()))
            #expect(count == 0)
        }
    }
}
