import BLESimulator
import Synchronization

@testable import BLEStreams

/// A peripheral that a sweep meets, and which of its values are sent to somebody.
final class SweepSite: Sendable {
    typealias Serve = @Sendable (PeripheralServer, Bench, SweepSite) async throws -> Void

    let description: LocalPeripheral
    /// What anybody can read, and what sends a value to whoever subscribes.
    let known: (readable: BluetoothUUID, notifying: BluetoothUUID?)
    /// How many adapters the central has.
    let adapters: Int
    private let notifying: [BluetoothUUID]
    private let serving: Serve
    private let subscribed = Mutex<[BluetoothUUID]>([])

    /// - Parameters:
    ///   - notifying: the characteristics that send their values.
    ///   - adapters: how many adapters the central has; several are joined.
    ///   - serve: what the peripheral does beside answering.
    init(
        _ description: LocalPeripheral,
        known: (readable: BluetoothUUID, notifying: BluetoothUUID?) = (Bench.readable, Bench.notifying),
        notifying: [BluetoothUUID],
        adapters: Int = 1,
        _ serve: @escaping Serve
    ) {
        self.description = description
        self.known = known
        self.notifying = notifying
        self.adapters = adapters
        serving = serve
    }

    /// The characteristics that somebody subscribes to at the moment.
    var subscriptions: [BluetoothUUID] { subscribed.withLock { $0 } }

    /// Serves.
    ///
    /// - Parameter isRestarted: whether it serves again once its adapter, which was away, is back.
    func live(_ bench: Bench, isRestarted: Bool) async throws {
        while true {
            do {
                try await description.run(on: bench.peripheralAdapter) { try await self.serve($0, bench) }
            } catch let error as BLEError {
                guard isRestarted else { throw error }
                repeat {
                    try await bench.time.sleep(for: .seconds(1))
                } while bench.peripheralAdapter.state != .poweredOn
            }
        }
    }

    private func serve(_ server: PeripheralServer, _ bench: Bench) async throws {
        subscribed.withLock { $0 = [] }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for uuid in notifying {
                group.addTask {
                    for try await change in server.subscriptions(of: uuid) {
                        self.subscribed.withLock { subscribed in
                            if change.isSubscribed {
                                subscribed.append(uuid)
                            } else if let index = subscribed.firstIndex(of: uuid) {
                                subscribed.remove(at: index)
                            }
                        }
                    }
                }
            }
            group.addTask { try await self.serving(server, bench, self) }
            try await group.waitForAll()
        }
    }
}

extension SweepSite {
    static let secret = BluetoothUUID(0xA0E1)
    static let inbound = BluetoothUUID(0xA0E2)
    static let outbound = BluetoothUUID(0xA0E3)
    /// In several chunks, on the smallest links and on the largest.
    static let message = [UInt8](repeating: 0x41, count: 1200)

    /// What the basic operations need: plain, long, protected, notifying and chunked characteristics.
    static func basic() -> SweepSite { basic(adapters: 1) }

    /// The same before a central with two adapters, of which the first one hears it best.
    static func joined() -> SweepSite { basic(adapters: 2) }

    private static func basic(adapters: Int) -> SweepSite {
        var description = Bench.description
        description.services.append(
            LocalService(BluetoothUUID(0xA0E0)) {
                LocalCharacteristic(secret, [.read, .write], value: .stored([42]), access: .encrypted)
                LocalCharacteristic(inbound, [.write, .writeWithoutResponse], value: .dynamic)
                LocalCharacteristic(outbound, [.notify])
            }
        )
        description.advertisedServices = [BluetoothUUID(0xA000)]
        let notifying = [Bench.notifying, Bench.indicating, outbound]
        return SweepSite(description, notifying: notifying, adapters: adapters) { server, bench, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for uuid in [Bench.notifying, Bench.indicating] {
                    group.addTask {
                        for try await change in server.subscriptions(of: uuid) where change.isSubscribed {
                            for number in UInt8(0)..<4 {
                                if uuid == Bench.notifying {
                                    _ = try? await server.notify([number], of: uuid, to: change.central)
                                } else {
                                    _ = try? await server.indicate([number], of: uuid, to: change.central)
                                }
                            }
                        }
                    }
                }
                group.addTask {
                    for try await change in server.subscriptions(of: outbound) where change.isSubscribed {
                        try? await server.send(message, of: outbound, to: change.central)
                    }
                }
                group.addTask { for try await _ in server.messages(to: inbound) {} }
                try await group.waitForAll()
            }
        }
    }
}
