import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// What a peripheral remembers of characteristics that it doesn't offer any more.
@Suite struct FormerCharacteristicsTests {
    private static func service(_ number: Int) -> LocalService {
        LocalService(BluetoothUUID(0xD000)) {
            LocalCharacteristic(BluetoothUUID(0xD001), [.read], value: .stored([UInt8(truncatingIfNeeded: number)]))
        }
    }

    @Test func `the ones that were replaced last are known by their handles, and not all of months`() throws {
        let server = try PeripheralServer(
            LocalPeripheral(name: "Toggling") { Self.service(0) },
            radio: FakeRadio(FakeLink(answers: [])),
            store: .inMemory(),
            warning: { _ in }
        )
        // Each one has three handles, behind the mandatory services.
        let first = try #require(server.database.withLock { $0.valueHandle(of: "D001") })
        for number in 1...1_100 { try server.replaceServices([Self.service(number)]) }
        let last = try #require(server.database.withLock { $0.valueHandle(of: "D001") })
        #expect(last == first + 3 * 1_100)
        #expect(server.hasDeclared(last) && server.hasDeclared(last - 3) && server.hasDeclared(last - 3 * 1_024))
        #expect(!server.hasDeclared(last - 3 * 1_025) && !server.hasDeclared(first))
    }
}
