import BLEProtocol
import Synchronization

/// The attributes that this device offers, lent to the server half of each of its bearers.
final class SharedDatabase: Sendable {
    private let database: Mutex<AttributeDatabase>

    init(_ database: AttributeDatabase) { self.database = Mutex(database) }

    /// What every device must offer, a central too: its name and the two mandatory services.
    static let centralDefault = SharedDatabase(
        AttributeDatabase(
            services: [LocalService]().addingMandatoryServices(name: "BLEStreams", appearance: 0, canChange: false)
        )
    )

    func withLock<Output>(_ body: (inout AttributeDatabase) -> Output) -> Output {
        database.withLock { body(&$0) }
    }
}
