import BLEDevices
import BLEStreams

/// Something that `ble serve` can offer.
protocol ServedContents: Sendable {
    /// Its name in the diary.
    var title: String { get }

    /// Its appearance, a number that the Bluetooth SIG assigned.
    var appearance: UInt16 { get }

    /// The services that centrals find.
    var services: [LocalService] { get }

    /// Answers centrals until it is cancelled, and reports to the diary.
    func live(_ server: PeripheralServer, _ diary: ServeDiary) async throws
}

/// Contents that are built into `ble serve`.
protocol ServedProfile: ServedContents {
    /// Its name after `--profile`.
    static var name: String { get }

    init()
}

extension ServedProfile {
    var title: String { Self.name }
}

/// All profiles, in the order of the help.
let servedProfiles: [any ServedProfile.Type] = [HeartRateProfile.self, TransferProfile.self, EchoProfile.self]

extension BLEError {
    /// Whether it concerns only that central: it has left or unsubscribed, doesn't know the services, has come back to
    /// a subscription without the security that this requires, or has agreed on a smaller MTU in the middle.
    fileprivate var concernsOneCentral: Bool {
        switch code {
        case .disconnected, .notSupported, .busy, .permissionDenied, .overflow: true
        default: false
        }
    }
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
                    // 8-bit value, sensor contact supported and detected.
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

/// Sends a message in chunks, ended by the chunk `EOM`, to each subscriber; the UUIDs are those of the example
/// Transfer.
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
                // Serving one central after the other would let a slow one delay the others.
                try await withThrowingDiscardingTaskGroup { transfers in
                    for try await change in server.subscriptions(of: .demo(2)) where change.isSubscribed {
                        transfers.addTask {
                            do {
                                try await server.send(message.utf8, of: .demo(2), to: change.central)
                            } catch let error as BLEError where error.concernsOneCentral {
                                // It would wait for the rest.
                                if error.code == .overflow { change.central.disconnect() }
                            }
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

/// A value that can be written and read back; each write is also notified.
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
        // A central that is slow to take an echo doesn't delay anybody's write; only the newest values matter.
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

    /// Replaces the value, or writes octets at an offset within it.
    func take(_ new: [UInt8], at offset: Int) -> Bool {
        guard offset <= octets.count else { return false }
        octets = octets.prefix(offset) + new
        return true
    }
}
