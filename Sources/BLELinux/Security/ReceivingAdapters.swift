internal import Synchronization

/// The adapters whose pairing capability a reception of this program has set, by any of its radios; not those without
/// input and output, whose capability every link restores.
///
/// The pairing capability is the adapter's: a radio that set it for a link of its own would take it from the reception
/// that another radio has begun.
enum ReceivingAdapters {
    private struct Place: Hashable {
        var kernel: ObjectIdentifier?
        var name: String

        init(_ adapter: LinuxAdapter) {
            kernel = adapter.kernel.substitute.map { ObjectIdentifier($0) }
            name = adapter.name
        }
    }

    private static let receptions = Mutex<[Place: Int]>([:])

    /// Counts a reception on an adapter, until the returned closure is called.
    static func begin(on adapter: LinuxAdapter) -> @Sendable () -> Void {
        let place = Place(adapter)
        receptions.withLock { $0[place, default: 0] += 1 }
        return {
            receptions.withLock { receptions in
                guard let count = receptions[place] else { return }
                receptions[place] = count > 1 ? count - 1 : nil
            }
        }
    }

    static func contains(_ adapter: LinuxAdapter) -> Bool { receptions.withLock { $0[Place(adapter)] != nil } }
}
