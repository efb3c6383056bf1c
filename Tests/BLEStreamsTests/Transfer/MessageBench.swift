import BLESimulator
import BLEStreams
import Testing

/// A peripheral that sends messages to whoever subscribes and takes what is written, on links of one MTU.
struct MessageBench {
    let link: Link
    let server: PeripheralServer
    let air: SimulatedAir

    static let service = BluetoothUUID(0xD000)
    /// What the peripheral notifies.
    static let outbound = BluetoothUUID(0xD001)
    /// What the central writes.
    static let inbound = BluetoothUUID(0xD002)

    static let description = LocalPeripheral(name: "Messages") {
        LocalService(service) {
            LocalCharacteristic(outbound, [.notify])
            LocalCharacteristic(inbound, [.write, .writeWithoutResponse], value: .dynamic)
        }
    }

    /// A peripheral that takes messages whose chunks, written without response, a closure checks.
    static func judging(
        _ judge: @escaping @Sendable ([UInt8], ConnectedCentral) async throws -> Void
    ) -> LocalPeripheral {
        LocalPeripheral(name: "Judge") {
            LocalService(service) {
                LocalCharacteristic(inbound, [.read, .writeWithoutResponse], value: .stored([]), write: judge)
            }
        }
    }

    /// Takes messages in iterations of ten seconds, one behind the other.
    static func taking(_ taken: Recorder<[UInt8]>) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, _ in
            while true {
                for try await message in server.messages(to: inbound).prefix(for: .seconds(10)) {
                    taken.add(message.octets)
                }
            }
        }
    }

    /// Runs a body with a link of this MTU, 23 to 517, and the server at its other end.
    static func run(mtu: Int = 517, _ body: @escaping @Sendable (MessageBench) async throws -> Void) async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            air.traceCapacity = 10_000
            let near = air.adapter(settings: AdapterSettings(linkTiming: .fast, maximumPDUSize: mtu))
            let far = air.adapter(settings: AdapterSettings(maximumPDUSize: mtu))
            let central = try await Central.open(.radio(near))
            try await description.run(on: far) { server in
                try await central.peripheral(far.address).withLink { link in
                    #expect(link.mtu == mtu)
                    try await body(MessageBench(link: link, server: server, air: air))
                }
            }
        }
    }

    /// Runs a body beside a peripheral that does something for each who subscribes.
    func serving<Output: Sendable>(
        _ serve: @escaping @Sendable (ConnectedCentral) async throws -> Void,
        _ body: () async throws -> Output
    ) async throws -> Output {
        try await withThrowingTaskGroup(of: Void.self) { group in
            let server = server
            group.addTask {
                for try await change in server.subscriptions(of: Self.outbound) where change.isSubscribed {
                    try await serve(change.central)
                }
            }
            defer { group.cancelAll() }
            return try await body()
        }
    }

    /// What was notified or written, oldest first: what lies behind the opcode and the handle.
    func chunks(from sender: LinkRole) -> [[UInt8]] {
        air.trace.filter { $0.sender == sender }.compactMap(\.pdu)
            .filter { [0x1B, 0x52].contains($0.first) || $0.first == 0x12 && $0.count > 5 }
            .map { Array($0.dropFirst(3)) }
    }
}
