import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// Programs that keep their centrals where the closures of their values find them.
@Suite struct KeptCentralTests {
    @Test(arguments: [false, true])
    func `a central that a closure keeps is released with the server, also where the closure came later`(
        isLater: Bool
    ) throws {
        weak var kept: Recorder<ConnectedCentral>?
        func serve() throws {
            let centrals = Recorder<ConnectedCentral>()
            kept = centrals
            let keeping = LocalService(BluetoothUUID(0xD000)) {
                LocalCharacteristic(
                    BluetoothUUID(0xD001),
                    [.read],
                    read: { central in
                        centrals.add(central)
                        return [1]
                    }
                )
            }
            let first = isLater ? LocalService(BluetoothUUID(0xD002)) : keeping
            let server = try PeripheralServer(
                LocalPeripheral(name: "Keeper") { first },
                radio: FakeRadio(FakeLink(answers: [])),
                store: .inMemory(),
                warning: { _ in }
            )
            if isLater { try server.replaceServices([keeping]) }
            centrals.add(
                ConnectedCentral(
                    link: FakeLink(answers: []),
                    server: server,
                    id: 0,
                    client: ServerClient(),
                    isBonded: false
                )
            )
        }
        try serve()
        #expect(kept == nil)
    }
}
