import BLERadio
import BLESimulator
import BLEStreams
import Foundation
import Glibc
import RadioDoubles
import Synchronization
import Testing

@testable import ble

/// A proxy in this process, as the command runs it, with a simulated adapter and a device that is near.
struct ProxyBench: Sendable {
    static let device = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    static let value = BluetoothUUID(0xB101)

    let air: SimulatedAir
    let adapter: SimulatedAdapter
    let host: ProxyHost
    /// The device, which has one characteristic.
    let server: PeripheralServer
    let handle: UInt16
    /// The numbers of clients that have left, and left nothing behind.
    private let departures: AsyncStream<Int>
    private let connections: AsyncStream<TCPConnection>.Continuation

    /// Lets a client come.
    ///
    /// - Parameters:
    ///   - isPiecewise: whether the proxy gets each message by itself, however many have been sent.
    ///   - isFull: whether there is no room for what the proxy sends, until the client has taken what is there.
    func client(isPiecewise: Bool = false, isFull: Bool = false) throws -> PlainClient {
        var ends: [Int32] = [-1, -1]
        // No child may get a client's end: the proxy would not learn that the client has left.
        let kind = (isPiecewise ? SOCK_SEQPACKET : SOCK_STREAM).rawValue | SOCK_CLOEXEC.rawValue
        guard socketpair(AF_UNIX, Int32(kind), 0, &ends) == 0 else {
            throw POSIXError(.init(rawValue: errno) ?? .EMFILE)
        }
        let octets = [UInt8](repeating: 0, count: 4096)
        while isFull, Glibc.send(ends[0], octets, octets.count, Int32(MSG_DONTWAIT)) > 0 {}
        connections.yield(try #require(TCPConnection(ends[0])))
        return PlainClient(ends[1])
    }

    /// The number of the client that leaves next.
    func departure() async throws -> Int {
        do {
            return try await BLEStream(departures).timeout(.seconds(60)).first()
        } catch let error as BLEError where error.code == .timedOut {
            throw PlainClient.Impatience(description: "no client has left the proxy for 60 s")
        }
    }

    /// Serves clients until the body has returned; it fails where one of them ends the proxy for all.
    ///
    /// - Parameters:
    ///   - limit: how many devices may be connected to.
    ///   - radio: what the proxy has in place of the adapter.
    static func run(
        connections limit: Int = 8,
        through radio: (SimulatedAdapter) -> any Radio = { $0 },
        _ body: @escaping @Sendable (ProxyBench) async throws -> Void
    ) async throws {
        // A client may leave while something is written to it.
        BrokenPipes.areErrors
        let air = SimulatedAir()
        let adapter = air.adapter(settings: AdapterSettings(linkTiming: .fast))
        let choice = AdapterChoice.radio(radio(adapter))
        let there = air.adapter(address: device)
        let peripheral = LocalPeripheral(name: "Sensor") {
            LocalService(BluetoothUUID(0xB100)) {
                LocalCharacteristic(value, [.read, .write, .notify], value: .stored([7]))
            }
        }
        try await peripheral.run(on: .radio(there), store: nil) { server in
            try await Central.with(choice) { central in
                let services = try await central.peripheral(device).withLink { try await $0.discover().services }
                let found = services.flatMap(\.characteristics).first { $0.uuid == value }
                let host = ProxyHost(
                    central: central,
                    identity: ProxyIdentity(name: "bench", address: adapter.address, isEncrypted: false),
                    encryption: nil,
                    slots: ProxySlots(limit: limit),
                    log: Log(isVerbose: false)
                )
                try await open(air, adapter, host, server, found?.valueHandle ?? 0, body)
            }
        }
    }

    private static func open(
        _ air: SimulatedAir,
        _ adapter: SimulatedAdapter,
        _ host: ProxyHost,
        _ server: PeripheralServer,
        _ handle: UInt16,
        _ body: @escaping @Sendable (ProxyBench) async throws -> Void
    ) async throws {
        let (connections, inlet) = AsyncStream<TCPConnection>.makeStream()
        let (departures, departed) = AsyncStream<Int>.makeStream()
        let bench = ProxyBench(
            air: air,
            adapter: adapter,
            host: host,
            server: server,
            handle: handle,
            departures: departures,
            connections: inlet
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await serve(connections, on: host, departed) }
            group.addTask { try await body(bench) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func serve(
        _ connections: AsyncStream<TCPConnection>,
        on host: ProxyHost,
        _ departed: AsyncStream<Int>.Continuation
    ) async throws {
        try await withThrowingDiscardingTaskGroup { clients in
            var number = 0
            for await connection in connections {
                number += 1
                let client = ProxyClient(host, connection, number: number)
                clients.addTask { [number] in
                    try await client.run()
                    departed.yield(number)
                }
            }
        }
    }
}

extension PlainClient {
    /// Asks for a connection to a device.
    func connect(to device: BluetoothAddress = ProxyBench.device) throws {
        try send(68) { message in
            message.field(1, device.rawValue)
            message.field(2, 5 as UInt64)
            message.field(3, true)
            message.field(4, 1 as UInt64)
        }
    }

    /// Gives it up.
    func disconnect() throws {
        try send(68) { message in
            message.field(1, ProxyBench.device.rawValue)
            message.field(2, 1 as UInt64)
        }
    }

    /// What it is told of a connection.
    enum Connection: Equatable {
        case there
        case none(error: UInt64)
    }

    /// What it is told next of a connection.
    func connection() async throws -> Connection {
        let message = try await message(69)
        return try message.number(2) == 1 ? .there : .none(error: message.number(4))
    }

    func read(_ handle: UInt16, descriptor isDescriptor: Bool = false) async throws -> [UInt8] {
        try send(isDescriptor ? 76 : 73) { message in
            message.field(1, ProxyBench.device.rawValue)
            message.field(2, UInt64(handle))
        }
        return try await message(74).octets(3)
    }

    /// Subscribes; the device knows of it when this has returned.
    func subscribe(_ handle: UInt16) async throws {
        try send(78) { message in
            message.field(1, ProxyBench.device.rawValue)
            message.field(2, UInt64(handle))
            message.field(3, true)
        }
        _ = try await message(84)
        // Behind it, in the queue of the link.
        _ = try await read(handle)
    }

    /// Subscribes no longer.
    func unsubscribe(_ handle: UInt16) throws {
        try send(78) { message in
            message.field(1, ProxyBench.device.rawValue)
            message.field(2, UInt64(handle))
            message.field(3, false)
        }
    }

    /// Writes a descriptor; it is done when this has returned.
    func writeDescriptor(_ handle: UInt16, _ octets: [UInt8]) async throws {
        try send(77) { message in
            message.field(1, ProxyBench.device.rawValue)
            message.field(2, UInt64(handle))
            message.field(3, octets)
        }
        _ = try await message(83)
    }

    /// What the proxy says of its places, with the devices that have one as they are encoded.
    struct Places: Equatable {
        var free: UInt64
        var limit: UInt64
        var used: [UInt8]
    }

    /// What the proxy says next of its places.
    func places() async throws -> Places {
        let message = try await message(81)
        return try Places(free: message.number(1), limit: message.number(2), used: message.octets(3))
    }
}

/// A radio that connects, and may not scan.
struct ScanlessRadio: RelayingRadio {
    let radio: SimulatedAdapter

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        let error = BLEError(.permissionDenied, operation: "scan", cause: "the test says so", remedy: "Don't.")
        return timeline.schedule(after: .zero) { events(.failed(error)) }
    }
}

/// A radio that notes the tasks in which bonds are removed.
struct NotingRadio: RelayingRadio {
    let radio: SimulatedAdapter
    let notes: TaskNotes

    /// Makes such radios, with one place for the notes.
    static func telling(_ notes: TaskNotes) -> (SimulatedAdapter) -> any Radio {
        { NotingRadio(radio: $0, notes: notes) }
    }

    func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        notes.add()
        return radio.unpair(peer, result: result)
    }
}

/// The identities of tasks. Those of tasks that are there at the same time differ; one that is released leaves its own
/// to a later one, as it does its memory.
final class TaskNotes: Sendable {
    private let tasks = Mutex<[Int]>([])

    /// Notes the running task.
    func add() {
        let task = withUnsafeCurrentTask { $0?.hashValue ?? 0 }
        guard task != 0 else { return }
        tasks.withLock { $0.append(task) }
    }

    /// How many were noted.
    var count: Int { tasks.withLock { $0.count } }

    /// Whether one of them had been released when a later one came.
    var hasRepetition: Bool { tasks.withLock { Set($0).count < $0.count } }
}
