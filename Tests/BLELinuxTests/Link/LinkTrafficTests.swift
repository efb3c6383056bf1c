import BLEProtocol
import BLEStreams
import Glibc
import Synchronization
import Testing

@testable import BLELinux

/// Everything at once on one link, over real sockets and threads: what is sent without a lock must stay in order, and
/// no answer may be missed that is faster than the word that its request has left.
@Suite(.timeLimit(.minutes(10)))
struct LinkTrafficTests {
    private static let readable = BluetoothUUID(0xA001)
    private static let notifying = BluetoothUUID(0xA003)
    private static let indicating = BluetoothUUID(0xA004)
    private static let written = BluetoothUUID(0xA005)

    private static let description = LocalPeripheral(name: "Traffic") {
        LocalService(BluetoothUUID(0xA000)) {
            LocalCharacteristic(readable, [.read], value: .stored([1, 2, 3]))
            LocalCharacteristic(notifying, [.notify])
            LocalCharacteristic(indicating, [.indicate])
            LocalCharacteristic(written, [.writeWithoutResponse], value: .dynamic)
        }
    }

    /// What is written until the program at the other end has begun to listen; no number.
    private static let hello: [UInt8] = []

    private static func octets(_ number: Int) -> [UInt8] { [UInt8(number & 0xFF), UInt8(number >> 8)] }

    private static func number(_ octets: some Collection<UInt8>) -> Int {
        octets.reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Whether the program of the peripheral listens.
    private final class Listener: Sendable {
        private let state = Mutex(false)
        var hasBegun: Bool { state.withLock { $0 } }
        func begin() { state.withLock { $0 = true } }
    }

    @Test func `reads, commands, notifications and indications cross each other, and each keeps its order`()
        async throws
    {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try systemCall { socketpair(AF_UNIX, type, 0, &ends) }
        let near = PairRadio(socket: ends[0], loop: try EventLoop(name: "near"))
        let far = PairRadio(socket: ends[1], loop: try EventLoop(name: "far"))
        let count = 2000
        let (allWritten, written) = AsyncStream<Void>.makeStream()
        let listener = Listener()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Self.description.run(on: far) { server in
                    try await Self.serve(server, count) {
                        listener.begin()
                    } whenAllIsWritten: {
                        written.finish()
                    }
                }
            }
            let central = try await Central.open(.radio(near))
            try await central.peripheral(.example).withLink { link in
                // The peripheral answers before its program listens.
                while !listener.hasBegun {
                    try await link.write(Self.hello, to: Self.written, .withoutResponse)
                    _ = try await link.read(Self.readable)
                }
                try await Self.use(link, count)
                for await _ in allWritten {}
            }
            group.cancelAll()
        }
    }

    private static func serve(
        _ server: PeripheralServer,
        _ count: Int,
        whenListening: @escaping @Sendable () -> Void,
        whenAllIsWritten: @escaping @Sendable () -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await change in server.subscriptions(of: notifying) where change.isSubscribed {
                    for number in 0..<count {
                        try await server.notify(octets(number), of: notifying, to: change.central)
                    }
                }
            }
            group.addTask {
                for try await change in server.subscriptions(of: indicating) where change.isSubscribed {
                    for number in 0..<count {
                        try await server.indicate(octets(number), of: indicating, to: change.central)
                    }
                }
            }
            group.addTask {
                var expected = 0
                for try await write in server.writes(to: written) {
                    if write.value.isEmpty {
                        #expect(expected == 0)
                        whenListening()
                        continue
                    }
                    #expect(number(write.value) == expected)
                    expected += 1
                    if expected == count { whenAllIsWritten() }
                }
            }
            try await group.waitForAll()
        }
    }

    private static func use(_ link: Link, _ count: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for uuid in [notifying, indicating] {
                group.addTask {
                    let numbers = try await link.notifications(of: uuid).map { number($0) }.collect(count)
                    #expect(numbers == Array(0..<count))
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    for _ in 0..<count {
                        let value = try await link.read(readable)
                        #expect(Array(value) == [1, 2, 3])
                    }
                }
            }
            group.addTask {
                for number in 0..<count { try await link.write(octets(number), to: written, .withoutResponse) }
            }
            try await group.waitForAll()
        }
    }
}
