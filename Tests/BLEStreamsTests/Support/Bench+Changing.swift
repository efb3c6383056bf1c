import BLESimulator
import BLEStreams

extension Bench {
    /// Changes the services when it is written to, and sends a number to each who subscribes to what notifies.
    static func changing(
        to services: [LocalService]
    ) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, _ in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for try await write in server.writes() where write.value == [0xFF] {
                        try server.replaceServices(services)
                    }
                }
                group.addTask {
                    var number: UInt8 = 0
                    for try await change in server.subscriptions() where change.characteristic == "A003" {
                        guard change.isSubscribed else { continue }
                        number += 1
                        try await server.notify([number], of: Bench.notifying, to: change.central)
                    }
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }
}
