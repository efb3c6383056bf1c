import BLEStreams

/// Sends a message in chunks, ended by the chunk `EOM`, to each subscriber.
struct DemoTransfer: DemoDevice {
    let address = BluetoothAddress.demo(0xBC)

    let peripheral = LocalPeripheral(name: "Demo transfer") {
        LocalService(.demo(1)) {
            LocalCharacteristic(.demo(2), [.notify])
        }
    }

    private let message = (1...60).map { "Line \($0) of a message that doesn't fit into one notification.\n" }.joined()

    func live(_ server: PeripheralServer) async throws {
        for try await change in server.subscriptions(of: .demo(2)) where change.isSubscribed {
            do {
                try await server.send(message.utf8, of: .demo(2), to: change.central)
            } catch is BLEError {
                // The central has left; wait for the next one.
            }
        }
    }
}
