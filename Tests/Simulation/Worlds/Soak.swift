import BLESimulator
import BLEStreams
import Synchronization

/// A fleet of sensors for a year: values are counted where they reach the socket and where they are taken, and memory
/// is compared from one quarter of a day to the next.
public struct Soak: Sendable, CustomStringConvertible {
    public var seed: UInt64
    public var days = 365
    public var sensors = 50

    public init(seed: UInt64) { self.seed = seed }

    public var description: String { "\(sensors) sensors, \(days) days, seed \(seed)" }

    /// What was counted at the end of a quarter of a day.
    public struct Sample: Sendable {
        public let quarter: Int
        public let arrived: Int
        public let taken: Int
        public let links: Int
        public let heap: Int

        public var words: String {
            "day \(Double(quarter) / 4): \(arrived) values have arrived, \(taken) were taken, over \(links) links; "
                + "\(heap / 1024) KiB in use"
        }
    }

    public struct Outcome: Sendable, CustomStringConvertible {
        public var samples: [Sample] = []
        /// Values that were lost, came twice, or in another order.
        public var valueProblems: [String] = []
        /// Where memory has grown.
        public var memoryProblems: [String] = []

        public var problems: [String] { valueProblems + memoryProblems }

        public var description: String { samples.last?.words ?? "nothing was counted" }

        /// The samples, for a table.
        public var table: String {
            (["quarter,arrived,taken,links,heap"]
                + samples.map { "\($0.quarter),\($0.arrived),\($0.taken),\($0.links),\($0.heap)" })
                .map { $0 + "\n" }.joined()
        }
    }

    private static let service = BluetoothUUID(0xA000)
    private static let number = BluetoothUUID(0xA001)
    private static let quarter = Duration.seconds(21_600)
    /// For sixty days tables and buffers find their sizes: until each sensor has met each kind of trouble a few times.
    /// Fifty sensors had 5,334 KiB in use on day 2, 5,603 on day 14, and from day 60 to the end of the year 16.8 KiB
    /// more than on day 60 at most, by steps of 4.3 KiB at most.
    private static let warmUp = 240
    /// So much memory may be in use more in one quarter of a day than in the one before that used most.
    public static let tolerance = 16 * 1024

    /// Runs it.
    ///
    /// - Parameter tell: hears of each sample as it is taken.
    @concurrent
    public func run(_ tell: @escaping @Sendable (Sample) -> Void = { _ in }) async throws -> Outcome {
        let length = Duration.seconds(86_400 * days)
        return try await VirtualTime.run(seed: seed, limit: length + .seconds(86_400)) { time in
            let stage = SoakStage(self, time)
            return try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<sensors { group.addTask { try await stage.sense(index) } }
                group.addTask { try await stage.disturb() }
                group.addTask { try await stage.follow() }
                var outcome = Outcome()
                // What is counted must not grow by what it is counted with.
                outcome.samples.reserveCapacity(days * 4)
                for quarter in 1...days * 4 {
                    try await time.sleep(for: Self.quarter)
                    let sample = stage.sample(quarter)
                    outcome.samples.append(sample)
                    tell(sample)
                }
                group.cancelAll()
                outcome.valueProblems = stage.problems
                outcome.memoryProblems = Self.problems(of: outcome.samples)
                return outcome
            }
        }
    }

    /// What the samples show of memory.
    private static func problems(of samples: [Sample]) -> [String] {
        let heaps = samples.dropFirst(warmUp)
        guard var most = heaps.first?.heap else { return [] }
        var problems: [String] = []
        for sample in heaps.dropFirst() where sample.heap > most + tolerance {
            problems.append(
                "in quarter \(sample.quarter), \(sample.heap - most) octets more are in use than ever before"
            )
            most = sample.heap
        }
        return problems
    }
}

/// The adapters of a soak, and what was counted.
private final class SoakStage: Sendable {
    private struct State {
        /// The numbers that have reached the socket, of each sensor, and were not taken yet.
        var waiting: [[UInt32]]
        var next: [UInt32]
        var arrived = 0
        var taken = 0
        var links = 0
        var problems: [String] = []
    }

    private let soak: Soak
    private let time: VirtualTime
    private let air: SimulatedAir
    private let central: SimulatedAdapter
    private let sensors: [SimulatedAdapter]
    private let state: Mutex<State>

    private static let service = BluetoothUUID(0xA000)
    private static let number = BluetoothUUID(0xA001)

    init(_ soak: Soak, _ time: VirtualTime) {
        self.soak = soak
        self.time = time
        let air = SimulatedAir(time)
        self.air = air
        central = air.adapter()
        sensors = (0..<soak.sensors).map { _ in
            air.adapter(settings: AdapterSettings(advertisingInterval: .seconds(1), linkTiming: .slow))
        }
        state = Mutex(
            State(waiting: Array(repeating: [], count: soak.sensors), next: Array(repeating: 0, count: soak.sensors))
        )
        air.observeTrace { [weak self] in self?.note($0) }
    }

    var problems: [String] {
        state.withLock { $0.problems + ($0.arrived == 0 ? ["no value has arrived"] : []) }
    }

    func sample(_ quarter: Int) -> Soak.Sample {
        state.withLock {
            Soak.Sample(
                quarter: quarter,
                arrived: $0.arrived,
                taken: $0.taken,
                links: $0.links,
                heap: Worker.heapInUse()
            )
        }
    }

    // MARK: - Both ends

    private func note(_ record: AirRecord) {
        state.withLock { state in
            if case .connected = record.event { state.links += 1 }
            guard case .pdu(let octets, from: .peripheral, fate: .delivered) = record.event, octets.first == 0x1B,
                let value = NumberedValue(octets.dropFirst(3))
            else { return }
            state.arrived += 1
            state.waiting[value.peripheral].append(value.serial)
        }
    }

    private func take(_ octets: some Collection<UInt8>) {
        guard let value = NumberedValue(octets) else { return report("a value that nobody sent") }
        let expected = state.withLock { state -> UInt32? in
            state.taken += 1
            return state.waiting[value.peripheral].isEmpty ? nil : state.waiting[value.peripheral].removeFirst()
        }
        if expected != value.serial {
            report(
                "sensor \(value.peripheral): \(value.serial) is taken, and \(expected.map { "\($0)" } ?? "nothing") was due"
            )
        }
    }

    private func report(_ problem: String) {
        state.withLock { state in
            if state.problems.count < 20 { state.problems.append("at \(time.now): \(problem)") }
        }
    }

    // MARK: - Who is there

    /// Sends a number every ten minutes or so, over all links.
    func sense(_ index: Int) async throws {
        var sensor = LocalPeripheral(name: "Sensor \(index)") {
            LocalService(Self.service) { LocalCharacteristic(Self.number, [.notify]) }
        }
        sensor.resuming = .exponential()
        let silently: PeerStore.Warning = { _ in }
        try await sensor.run(on: sensors[index], warning: silently) { [self] server in
            while true {
                try await time.sleep(for: .seconds(500 + Int(time.randomBits() % 200)))
                let serial = state.withLock { state in
                    defer { state.next[index] += 1 }
                    return state.next[index]
                }
                let value = NumberedValue(peripheral: index, channel: .notified, serial: serial)
                try await server.notify(value.octets, of: Self.number)
            }
        }
    }

    /// Switches sensors, and now and then the central, off and on.
    func disturb() async throws {
        air.faults.add(.loseLinks(every: .seconds(200_000)))
        air.faults.add(.missAdvertisements(0.1))
        for round in 1... {
            try await time.sleep(for: .seconds(1_000 + Int(time.randomBits() % 10_000)))
            let adapter = round % 40 == 0 ? central : sensors[Int(time.randomBits() % UInt64(sensors.count))]
            if round % 3 == 0 { adapter.unplug() } else { adapter.powerOff() }
            try await time.sleep(for: .seconds(1 + Int(time.randomBits() % 600)))
            adapter.powerOn()
        }
    }

    func follow() async throws {
        let central = try await Central.open(.radio(central))
        try await central.withFleet { fleet in
            for sensor in sensors { fleet.add(Session.Plan(sensor.address).subscribing(to: Self.number)) }
            for try await value in fleet.values { take(value.value) }
        }
    }
}

extension LinkTiming {
    /// What a battery that lasts for a year allows.
    fileprivate static let slow = LinkTiming(connectionInterval: .milliseconds(500), supervisionTimeout: .seconds(6))
}
