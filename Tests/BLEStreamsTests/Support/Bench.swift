import BLESimulator
import BLEStreams
import Testing

/// A peripheral with one of each, on an air in virtual time; what most tests of links start from.
struct Bench {
    let time: VirtualTime
    let air: SimulatedAir
    let centralAdapter: SimulatedAdapter
    let peripheralAdapter: SimulatedAdapter
    let central: Central

    var peripheral: Peripheral { central.peripheral(peripheralAdapter.address) }

    static let readable = BluetoothUUID(0xA001)
    static let long = BluetoothUUID(0xA002)
    static let notifying = BluetoothUUID(0xA003)
    static let indicating = BluetoothUUID(0xA004)
    static let readOnly = BluetoothUUID(0xA005)
    static let dynamic = BluetoothUUID(0xA006)
    static let counter = BluetoothUUID(0xA007)

    static let longValue = (0..<400).map { UInt8(truncatingIfNeeded: $0) }

    static let description = LocalPeripheral(name: "Bench") {
        LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(readable, [.read, .write, .writeWithoutResponse], value: .stored([1, 2, 3]))
            LocalCharacteristic(long, [.read, .write], value: .stored(longValue))
            LocalCharacteristic(notifying, [.read, .notify], value: .stored([0]))
            LocalCharacteristic(indicating, [.indicate])
            LocalCharacteristic(readOnly, [.read], value: .stored([7]))
            LocalCharacteristic(dynamic, [.read, .write, .notify], value: .dynamic)
            LocalCharacteristic(counter, [.read, .notify], value: .stored([9]))
        }
    }

    /// Runs a test body beside the peripheral, which ends with it.
    ///
    /// - Parameters:
    ///   - centrals: how many may be connected to the peripheral at once.
    ///   - settings: the peripheral's adapter, but for that.
    ///   - warnings: keeps what the peripheral is told.
    ///   - serve: what the peripheral does; by default it answers from its stored values only.
    static func run(
        seed: UInt64 = 1,
        description: LocalPeripheral = description,
        centrals: Int = 1,
        settings: AdapterSettings = AdapterSettings(),
        warnings: Recorder<BLEError>? = nil,
        serve: @escaping @Sendable (PeripheralServer, Bench) async throws -> Void = { server, _ in
            for try await _ in server.centralEvents {}
        },
        _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            air.traceCapacity = 10_000
            var settings = settings
            settings.maximumCentrals = centrals
            let (near, far) = (air.adapter(), air.adapter(settings: settings))
            let bench = Bench(
                time: time,
                air: air,
                centralAdapter: near,
                peripheralAdapter: far,
                central: try await Central.open(.radio(near))
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await description.run(on: far, warning: { warnings?.add($0) }) { server in
                        try await serve(server, bench)
                    }
                }
                do {
                    try await body(bench)
                } catch {
                    group.cancelAll()
                    throw error
                }
                group.cancelAll()
            }
        }
    }

    /// Sends numbered values to everybody who subscribes: 4 octets, from 0 on.
    static func sendNumbers(_ count: Int) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, _ in
            for try await change in server.subscriptions(of: notifying) where change.isSubscribed {
                do {
                    for number in 0..<UInt32(count) {
                        try await server.notify(number.octets, of: notifying, to: change.central)
                    }
                } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {
                    // The central left in the middle: the next one begins anew.
                }
            }
        }
    }

    /// Sends a number each second to whoever has subscribed, on from the last one.
    static let sendForEver: @Sendable (PeripheralServer, Bench) async throws -> Void = { server, bench in
        var number: UInt32 = 0
        while true {
            try await server.notify(number.octets, of: notifying)
            number += 1
            try await bench.time.sleep(for: .seconds(1))
        }
    }

    /// What the central wrote to attributes of the bench's own service, oldest first: not what the library itself
    /// writes to the mandatory services, which lie in front.
    var writes: [[UInt8]] {
        sent(by: .central).filter { $0.first == 0x12 && (UInt16($0[1]) | UInt16($0[2]) << 8) > 0x000D }
            .map { Array($0.dropFirst(3)) }
    }

    /// The PDUs that one side sent, oldest first.
    func sent(by role: LinkRole) -> [[UInt8]] {
        air.trace.filter { $0.sender == role }.compactMap(\.pdu)
    }
}

extension UInt32 {
    var octets: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (8 * UInt32($0))) } }

    init(octets: some Collection<UInt8>) {
        self = octets.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// The `BLEError` that a body throws; recorded as a failure when it throws none.
func bleError(_ body: () async throws -> Void) async -> BLEError? {
    do {
        try await body()
        Issue.record("no error was thrown")
    } catch let error as BLEError {
        return error
    } catch {
        Issue.record("another error was thrown: \(error)")
    }
    return nil
}

extension Link {
    func expect(_ uuid: BluetoothUUID, reads octets: [UInt8]) async throws {
        let value = try await read(uuid)
        #expect(Array(value) == octets)
    }
}
