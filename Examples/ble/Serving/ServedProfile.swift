import BLEDevices
import BLEStreams

/// Something that `ble serve` can offer.
protocol ServedContents: Sendable {
    /// What the diary calls it.
    var title: String { get }

    /// What kind of device it makes, as a number that the Bluetooth SIG assigned.
    var appearance: UInt16 { get }

    /// What centrals find.
    var services: [LocalService] { get }

    /// Answers centrals until it is cancelled, and tells the diary.
    func live(_ server: PeripheralServer, _ diary: ServeDiary) async throws
}

/// Contents that `ble serve` brings along.
protocol ServedProfile: ServedContents {
    /// What it is called behind `--profile`.
    static var name: String { get }

    init()
}

extension ServedProfile {
    var title: String { Self.name }
}

/// All profiles, in the order in which the help lists them.
let servedProfiles: [any ServedProfile.Type] = [HeartRateProfile.self, TransferProfile.self, EchoProfile.self]

extension BLEError {
    /// Whether it concerns the one central only, who has left or taken the subscription back.
    fileprivate var concernsOneCentral: Bool { code == .disconnected || code == .notSupported || code == .busy }
}

/// A heart-rate sensor (Heart Rate Service 1.0).
struct HeartRateProfile: ServedProfile {
    static let name = "heart-rate"

    let appearance: UInt16 = 0x0341

    var services: [LocalService] {
        [
            LocalService(.heartRate) {
                LocalCharacteristic(BluetoothUUID.Characteristics.heartRateMeasurement, [.notify])
                LocalCharacteristic(BluetoothUUID.Characteristics.bodySensorLocation, [.read], value: .dynamic)
            }
        ]
    }

    func live(_ server: PeripheralServer, _ diary: ServeDiary) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await change in server.subscriptions() { try diary.note(change) }
            }
            group.addTask {
                for try await request in server.reads() {
                    // On the chest.
                    try request.respond([1])
                    try diary.read([1], request)
                }
            }
            group.addTask {
                for step in 0... {
                    let beats = UInt8(72 + [0, 1, 3, 2, 0, -1, -3, -2][step % 8])
                    // Eight bits, contact supported and made.
                    let measurement = BluetoothUUID.Characteristics.heartRateMeasurement
                    try await server.notify([0x06, beats], of: measurement)
                    try await Task.sleep(for: .seconds(1))
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// Sends a message in chunks, closed by a chunk that is `EOM`, to whoever subscribes; the UUIDs are those of the example Transfer.
struct TransferProfile: ServedProfile {
    static let name = "transfer"

    let appearance: UInt16 = 0

    private let message = (1...40).map { "Line \($0) of a message that doesn't fit into one notification.\n" }.joined()

    var services: [LocalService] {
        [LocalService(.demo(1)) { LocalCharacteristic(.demo(2), [.notify]) }]
    }

    func live(_ server: PeripheralServer, _ diary: ServeDiary) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await change in server.subscriptions() { try diary.note(change) }
            }
            group.addTask {
                // One central after the other would let a slow one keep the others waiting.
                try await withThrowingDiscardingTaskGroup { transfers in
                    for try await change in server.subscriptions(of: .demo(2)) where change.isSubscribed {
                        transfers.addTask {
                            do {
                                try await server.send(message.utf8, of: .demo(2), to: change.central)
                            } catch let error as BLEError where error.concernsOneCentral {}
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// A value that is read as it was written last; what is written is notified too.
struct EchoProfile: ServedProfile {
    static let name = "echo"

    let appearance: UInt16 = 0

    var services: [LocalService] {
        [
            LocalService(.demo(0x20)) {
                LocalCharacteristic(
                    .demo(0x21),
                    [.read, .write, .writeWithoutResponse, .notify, .indicate],
                    value: .dynamic
                ) {
                    LocalDescriptor.userDescription("The value written last")
                }
            }
        ]
    }

    func live(_ server: PeripheralServer, _ diary: ServeDiary) async throws {
        let value = EchoedValue()
        // A central that is slow to take an echo keeps nobody's write waiting; the newest ones are what counts.
        let (echoes, echo) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(64))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for try await change in server.subscriptions() { try diary.note(change) }
            }
            group.addTask {
                for try await request in server.reads() {
                    let octets = await value.octets
                    try request.respond(octets)
                    try diary.read(octets, request)
                }
            }
            group.addTask {
                for try await request in server.writes() {
                    guard await value.take(request.value, at: request.offset) else {
                        request.reject(.invalidOffset)
                        continue
                    }
                    request.accept()
                    let octets = await value.octets
                    try diary.written(octets, request)
                    echo.yield(octets)
                }
            }
            group.addTask {
                for await octets in echoes {
                    try await server.notify(octets, of: .demo(0x21))
                    try await server.indicate(octets, of: .demo(0x21))
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// The value of an echo.
private actor EchoedValue {
    private(set) var octets = Array("hello".utf8)

    /// Puts octets in the value's place, or behind an offset within it.
    func take(_ new: [UInt8], at offset: Int) -> Bool {
        guard offset <= octets.count else { return false }
        octets = octets.prefix(offset) + new
        return true
    }
}
