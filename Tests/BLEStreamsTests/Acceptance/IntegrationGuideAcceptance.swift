import BLERadio
import BLESimulator
import BLEStreams
import Testing

extension Acceptance {
    /// The guide from an import to a running program, each step as the README has it.
    @Suite("Integration guide", .timeLimit(.minutes(10))) struct IntegrationGuide {
        @Test func `a program waits for its adapter, scans, connects and follows a characteristic`() async throws {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                bench.centralAdapter.powerOff()
                let timer = bench.time.schedule(after: .seconds(40)) { bench.centralAdapter.powerOn() }
                defer { timer.cancel() }
                let central = try await Central.open(.radio(bench.centralAdapter), waitingFor: .seconds(60))
                let found = try await central.scan(for: .service(BluetoothUUID(0xA000)), .rssi(atLeast: -90))
                    .timeout(.seconds(10)).first()
                try await found.peripheral.withLink { link in
                    #expect(link.mtu == 517)
                    let database = try await link.discover()
                    #expect(database.service(BluetoothUUID(0xA000)) != nil)
                    var count = 0
                    for try await _ in link.notifications(of: Bench.notifying).timeout(.seconds(5)) {
                        count += 1
                        if count == 5 { break }
                    }
                }
                try await bench.time.sleep(for: .seconds(3))
                #expect(bench.centralAdapter.activity.isIdle)
            }
        }

        @Test func `adapter and connection states are streams`() async throws {
            try await Bench.run { bench in
                let adapter = BLEStreamRecorder(bench.central.adapterStates)
                let connection = BLEStreamRecorder(bench.peripheral.connectionStates)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask { try await adapter.run() }
                    group.addTask { try await connection.run() }
                    try await bench.time.sleep(for: .seconds(1))
                    try await bench.peripheral.withLink { _ in }
                    bench.centralAdapter.powerOff()
                    bench.centralAdapter.powerOn()
                    try await bench.time.sleep(for: .seconds(5))
                    group.cancelAll()
                }
                #expect(adapter.all.first == .poweredOn && adapter.all.contains(.poweredOff))
                #expect(connection.all.prefix(4) == [.disconnected(nil), .connecting, .connected, .disconnecting])
            }
        }

        @Test func `a stream that is retried follows a peripheral through lost links, with visible gaps`() async throws
        {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                for count in [5, 12, 20] { bench.air.faults.add(.dropLink(after: count, .notifications)) }
                let values = bench.peripheral.stream { $0.notifications(of: Bench.notifying) }.retry().withGaps()
                var (received, gaps) = (0, 0)
                for try await item in values {
                    if case .gap(let gap) = item {
                        gaps += 1
                        #expect((gap.reason as? BLEError)?.code == .disconnected)
                    } else {
                        received += 1
                    }
                    if received == 40 { break }
                }
                #expect(gaps == 3)
            }
        }

        @Test func `two streams of one peripheral share its link`() async throws {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                let one = bench.peripheral.stream { $0.notifications(of: Bench.notifying) }.map { _ in 1 }.retry()
                let other = bench.peripheral.stream { $0.values(of: Bench.counter) }.map { _ in 2 }.retry()
                var seen: Set<Int> = []
                for try await number in one.merge(with: other).timeout(.seconds(60)) {
                    seen.insert(number)
                    if seen.count == 2 { break }
                }
            }
        }

        @Test func `what goes wrong says what, on what, why, and what to do`() async throws {
            try await Bench.run { bench in
                try await bench.peripheral.withLink { link in
                    let error = await bleError { _ = try await link.read(BluetoothUUID(0xA0FF)) }
                    #expect(error?.code == .notFound && error?.operation == "read")
                    #expect(error?.object.contains("A0FF") == true)
                    #expect(error?.cause.isEmpty == false && error?.remedy.isEmpty == false)
                }
            }
        }
    }
}

/// What a stream brings while it runs.
private final class BLEStreamRecorder<Element: Sendable>: Sendable {
    private let stream: BLEStream<Element>
    private let recorder = Recorder<Element>()

    var all: [Element] { recorder.all }

    init(_ stream: BLEStream<Element>) { self.stream = stream }

    func run() async throws { for try await element in stream { recorder.add(element) } }
}
