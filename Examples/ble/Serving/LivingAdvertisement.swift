import BLEStreams
import Synchronization

/// What is advertised; it follows the files that contain its values.
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

    /// The same, as a scanner with room for everything would receive it.
    var data: AdvertisingData {
        (try? AdvertisingData(request.fields, limit: .max)) ?? AdvertisingData(bytes: [])
    }

    /// Checks the files once a second, and advertises what is new, until it is cancelled.
    ///
    /// If there is no value, the previous one stays on air, and the diary reports that, once until there is one again.
    func follow(_ server: PeripheralServer, _ diary: ServeDiary, _ address: BluetoothAddress?) async throws {
        var hasFailed = false
        while true {
            try await Task.sleep(for: .seconds(1))
            do {
                let next = try declared.request()
                if next != request {
                    try await server.advertise(next)
                    current.withLock { $0 = next }
                    // Otherwise, it is reported when serving resumes.
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
