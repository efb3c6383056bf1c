import Testing

@testable import BLEProtocol

@Suite struct GATTDatabaseTests {
    private static func service(_ uuid: UInt16, _ start: UInt16, _ characteristics: [UInt16]) -> GATTService {
        GATTService(
            uuid: BluetoothUUID(uuid),
            handle: start,
            endHandle: start + 0x0F,
            characteristics: characteristics.enumerated().map { index, type in
                let handle = start + 1 + UInt16(index) * 3
                return Characteristic(
                    uuid: BluetoothUUID(type),
                    properties: [.read, .notify],
                    handle: handle,
                    valueHandle: handle + 1,
                    endHandle: handle + 2,
                    descriptors: [Descriptor(uuid: BluetoothUUID(0x2902), handle: handle + 2)]
                )
            }
        )
    }

    private let database = GATTDatabase(services: [
        service(0x180F, 0x10, [0x2A19]), service(0x180D, 0x20, [0x2A37, 0x2A38]), service(0x180F, 0x30, [0x2A19]),
    ])

    @Test func `a characteristic is found by UUID, the first one where there are several`() {
        #expect(database.characteristic(BluetoothUUID(0x2A19))?.valueHandle == 0x12)
        #expect(database.characteristic(BluetoothUUID(0x2A38), in: BluetoothUUID(0x180D))?.valueHandle == 0x25)
        #expect(database.characteristic(BluetoothUUID(0x2A38), in: BluetoothUUID(0x180F)) == nil)
        #expect(database.characteristics(BluetoothUUID(0x2A19)).map(\.valueHandle) == [0x12, 0x32])
        #expect(database.characteristics(BluetoothUUID(0x2A19), in: BluetoothUUID(0x180D)).isEmpty)
        #expect(database.service(BluetoothUUID(0x180D))?.handle == 0x20)
    }

    @Test func `services, characteristics and descriptors are found by handle`() {
        #expect(database.service(containing: 0x2F)?.uuid == BluetoothUUID(0x180D))
        #expect(database.service(containing: 0x40) == nil)
        #expect(database.characteristic(valueHandle: 0x25)?.uuid == BluetoothUUID(0x2A38))
        #expect(database.characteristic(valueHandle: 0x24) == nil)
        #expect(database.characteristic(containing: 0x26)?.uuid == BluetoothUUID(0x2A38))
        #expect(database.characteristic(containing: 0x2A) == nil)
        #expect(database.descriptor(handle: 0x26)?.uuid == BluetoothUUID(0x2902))
        #expect(database.descriptor(handle: 0x25) == nil)
        #expect(database.characteristic(valueHandle: 0x25)?.clientConfiguration?.handle == 0x26)
    }
}
