import BLEStreams
import Synchronization

/// What is on air, which follows the files that its values stand in.
final class LivingAdvertisement: Sendable {
    private let declared: DeclaredAdvertisement
    private let current: Mutex<AdvertiseRequest>

    /// Reads the files for the first time.
    init(_ declared: DeclaredAdvertisement) throws {
        self.declared = declared
        current = Mutex(try declared.request())
    }

    /// What is advertised now.
    var request: AdvertiseRequest { current.withLock { $0 } }

    /// The same, as one who has room for everything would receive it.
    var data: AdvertisingData {
        (try? AdvertisingData(request.fields, limit: .max)) ?? AdvertisingData(bytes: [])
    }

    /// Looks at the files once a second, and advertises what is new, until it is cancelled.
    ///
    /// Where there is no value, the one of before stays on air, and the diary is told, once until there is one again.
    func follow(_ server: PeripheralServer, _ diary: ServeDiary, _ address: BluetoothAddress?) async throws {
        var hasFailed = false
        while true {
            try await Task.sleep(for: .seconds(1))
            do {
                let next = try declared.request()
                if next != request {
                    try await server.advertise(next)
                    current.withLock { $0 = next }
                    // Else it is told when it is served again.
                    if case .serving = server.state { try diary.advertises(data, address) }
                }
                hasFailed = false
            } catch let error as BLEError {
                if !hasFailed { try diary.unavailable(error) }
                hasFailed = true
            }
        }
    }
}
