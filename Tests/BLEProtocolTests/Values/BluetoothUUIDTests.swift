import Testing

@testable import BLEProtocol

@Suite struct BluetoothUUIDTests {
    @Test func `a short UUID is its 128-bit form on the base`() throws {
        let full: BluetoothUUID = "0000180D-0000-1000-8000-00805F9B34FB"
        #expect(full == BluetoothUUID(0x180D))
        #expect(full.hashValue == BluetoothUUID(0x180D).hashValue)
        #expect(full == BluetoothUUID(bits32: 0x180D))
        #expect(full.short == 0x180D && full.bits32 == 0x180D)
    }

    @Test func `a UUID off the base has no short form`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        #expect(own.short == nil && own.bits32 == nil)
        #expect(own.high == 0x2D45_B460_8DB7_11E1 && own.low == 0x9A46_0002_A5D5_C51B)
        // The same first half, but not the base's second one.
        #expect(BluetoothUUID(high: BluetoothUUID(0x180D).high, low: 1).short == nil)
    }

    @Test func `octets on air are least significant first`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        let ownText = "1bc5d5a50200469ae111b78d60b4452d"
        #expect(WireText.text(own.attOctets) == ownText && WireText.text(own.shortestOctets) == ownText)
        #expect(WireText.text(BluetoothUUID(0x180D).attOctets) == "0d18")
        #expect(WireText.text(BluetoothUUID(0x180D).shortestOctets) == "0d18")
        #expect(WireText.text(BluetoothUUID(0x180D).littleEndianOctets128) == "fb349b5f80000080001000000d180000")
        #expect(BluetoothUUID(littleEndian: WireText.octets(ownText)) == own)
        #expect(BluetoothUUID(littleEndian: [0x0D, 0x18]) == BluetoothUUID(0x180D))
        #expect(BluetoothUUID(littleEndian: [0x0D, 0x18, 0, 0]) == BluetoothUUID(0x180D))
    }

    @Test func `ATT has no 32-bit UUIDs, advertisements do`() {
        let wide = BluetoothUUID(bits32: 0x1234_5678)
        #expect(WireText.text(wide.attOctets) == "fb349b5f800000800010000078563412")
        #expect(WireText.text(wide.shortestOctets) == "78563412")
        #expect(wide.short == nil && wide.description == "12345678")
    }

    @Test(arguments: [0, 1, 3, 5, 8, 15, 17, 32])
    func `other numbers of octets are no UUID`(count: Int) {
        #expect(BluetoothUUID(littleEndian: [UInt8](repeating: 0, count: count)) == nil)
    }

    @Test(arguments: ["180D", "180d", "0x180D", "0X180d", "0000180D", "0000180d-0000-1000-8000-00805f9b34fb"])
    func `text in any of its forms`(text: String) {
        #expect(BluetoothUUID(text) == .heartRate)
    }

    @Test(
        arguments: [
            "", "0x", "180", "180DD", "0x180", " 180D", "180D ", "+80D", "-80D", "18 0D", "180G", "Ａ1", "１８0D",
            "0x0000180D-0000-1000-8000-00805F9B34FB", "{000180D-0000-1000-8000-00805F9B34FB}",
            "0000180D00001000800000805F9B34FB", "0000180D-00001-000-8000-00805F9B34FB",
            "0000180D-0000-1000-8000-00805F9B34F-", "+000180D-0000-1000-8000-00805F9B34FB",
        ]
    )
    func `other text is no UUID`(text: String) {
        #expect(BluetoothUUID(text) == nil)
    }

    @Test func `a literal is read as the same text is`() {
        let (own, short): (BluetoothUUID, BluetoothUUID) = ("2d45b460-8db7-11e1-9a46-0002a5d5c51b", "0x180D")
        #expect(own == BluetoothUUID(high: 0x2D45_B460_8DB7_11E1, low: 0x9A46_0002_A5D5_C51B))
        #expect(short == .heartRate)
    }

    @Test func `a literal that is no UUID stops the program, and says what one looks like`() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = "2d45b460-8db7" as BluetoothUUID
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("\"2d45b460-8db7\" is not a UUID: write 4 or 8 hex digits"))
    }

    @Test func `it prints in its shortest form, and that is read back`() {
        let own: BluetoothUUID = "2d45b460-8db7-11e1-9a46-0002a5d5c51b"
        #expect("\(own)" == "2D45B460-8DB7-11E1-9A46-0002A5D5C51B")
        #expect("\(BluetoothUUID(0x000D))" == "000D")
        #expect("\(BluetoothUUID(high: 1, low: 2))" == "00000000-0000-0001-0000-000000000002")
        for uuid in [own, BluetoothUUID(0x000D), BluetoothUUID(bits32: 0x0100_0000), BluetoothUUID(high: 1, low: 2)] {
            #expect(BluetoothUUID(uuid.description) == uuid)
        }
    }

    @Test func `assigned names`() {
        #expect(BluetoothUUID.heartRate.name == "Heart Rate")
        #expect(BluetoothUUID.battery.name == "Battery")
        #expect(BluetoothUUID.Characteristics.heartRateMeasurement.name == "Heart Rate Measurement")
        #expect(BluetoothUUID.clientCharacteristicConfiguration.name == "Client Characteristic Configuration")
        #expect(AttributeType.primaryService.name == "Primary Service")
        #expect(BluetoothUUID(0xFFFF).name == nil)
        #expect(BluetoothUUID(bits32: 0x1234_180D).name == nil)
    }

    @Test func `assigned numbers`() {
        #expect(BluetoothUUID.genericAccess.short == 0x1800 && BluetoothUUID.deviceInformation.short == 0x180A)
        #expect(BluetoothUUID.environmentalSensing.short == 0x181A && AttributeType.characteristic.short == 0x2803)
        #expect(BluetoothUUID.characteristicUserDescription.short == 0x2901)
        #expect(BluetoothUUID.Characteristics.batteryLevel.short == 0x2A19)
        #expect(BluetoothUUID.Characteristics.databaseHash.short == 0x2B2A)
    }
}
