import BLEStreams

/// A device with faulty firmware.
struct DemoTrouble: DemoDevice {
    let address = BluetoothAddress.demo(0xBE)

    let peripheral = LocalPeripheral(name: "Demo trouble") {
        LocalService(.demo(0x20)) {
            LocalCharacteristic(.demo(0x21), [.notify]) {
                LocalDescriptor.userDescription("Ends the link after five values")
            }
            LocalCharacteristic(.demo(0x22), [.notify]) {
                LocalDescriptor.userDescription("Ends the link within a message")
            }
            LocalCharacteristic(.demo(0x23), [.read], value: .dynamic) {
                LocalDescriptor.userDescription("Never answers")
            }
            LocalCharacteristic(.demo(0x24), [.notify]) {
                LocalDescriptor.userDescription("Never sends")
            }
        }
    }

    func live(_ server: PeripheralServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                // Keep them: a request that is released is refused.
                var unanswered: [PeripheralServer.ReadRequest] = []
                for try await read in server.reads(of: .demo(0x23)) { unanswered.append(read) }
            }
            for try await change in server.subscriptions() where change.isSubscribed {
                let (central, uuid) = (change.central, BluetoothUUID(change.characteristic))
                guard uuid == .demo(0x21) || uuid == .demo(0x22), let uuid else { continue }
                do {
                    for number in UInt8(0)..<5 {
                        let chunk =
                            uuid == .demo(0x21)
                            ? [number] : [UInt8](repeating: number, count: central.maximumValueLength)
                        try await server.notify(chunk, of: uuid, to: central)
                    }
                    // What was sent arrives before the link ends.
                    try await Task.sleep(for: .milliseconds(200))
                    central.disconnect()
                } catch is BLEError {
                    // The central has left; wait for the next one.
                }
            }
            group.cancelAll()
        }
    }
}
