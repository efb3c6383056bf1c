import Synchronization

/// Which characteristics clients have subscribed to, over all of a proxy's links.
final class ProxyFollowers: Sendable {
    /// A characteristic of a device, by the handle of its value.
    struct Characteristic: Hashable {
        var device: UInt64
        var handle: UInt16
    }

    private let counts = Mutex<[Characteristic: Int]>([:])

    /// A client subscribes.
    func add(_ characteristic: Characteristic) { counts.withLock { $0[characteristic, default: 0] += 1 } }

    /// It unsubscribes.
    func remove(_ characteristic: Characteristic) {
        counts.withLock { counts in
            let rest = counts[characteristic, default: 1] - 1
            counts[characteristic] = rest > 0 ? rest : nil
        }
    }

    /// Whether any client has subscribed to a characteristic of the device.
    func follow(_ device: UInt64) -> Bool { counts.withLock { $0.keys.contains { $0.device == device } } }

    /// The number of subscribed clients.
    func count(of characteristic: Characteristic) -> Int { counts.withLock { $0[characteristic] ?? 0 } }
}
