import BLEDevices
import Testing

@Suite struct AssignedNumbersTests {
    @Test func `companies are known by their identifiers`() {
        #expect(AssignedNumbers.company(0x0059) == "Nordic Semiconductor ASA")
        #expect(AssignedNumbers.company(0x004C) == "Apple, Inc.")
        #expect(AssignedNumbers.company(0x0499) == "Ruuvi Innovations Ltd.")
        #expect(AssignedNumbers.company(0xFFFE) == nil)
    }

    @Test func `an appearance is known by its kind, or by its category`() {
        #expect(AssignedNumbers.appearance(0x0341) == "Heart Rate Belt")
        #expect(AssignedNumbers.appearance(0x0340) == "Heart Rate Sensor")
        #expect(AssignedNumbers.appearance(0x037F) == "Heart Rate Sensor")
        #expect(AssignedNumbers.appearance(0xFFC0) == nil)
    }

    /// Against the SIG's own tables: those of others have other numbers for some, and names that say less.
    @Test func `what other tables call otherwise has the name that the SIG has assigned`() {
        let pumps: [UInt16: String] = [
            0x0D40: "Insulin Pump", 0x0D41: "Insulin Pump Durable Pump", 0x0D42: "Insulin Pump", 0x0D43: "Insulin Pump",
            0x0D44: "Insulin Pump Patch Pump", 0x0D48: "Insulin Pen",
        ]
        for (number, name) in pumps { #expect(AssignedNumbers.appearance(number) == name) }
        #expect(AssignedNumbers.appearance(0x0442) == "On Shoe Running Walking Sensor")
        let characteristics: [UInt16: String] = [
            0x2B44: "Physical Activity Current Session", 0x2B45: "Physical Activity Session Descriptor",
            0x2B80: "Volume Offset State", 0x2B84: "Set Identity Resolving Key", 0x2B85: "Coordinated Set Size",
            0x2B86: "Set Member Lock", 0x2B87: "Set Member Rank",
        ]
        for (number, name) in characteristics { #expect(BluetoothUUID(number).name == name) }
    }

    @Test func `services, characteristics and descriptors have names, and members' services those of the members`() {
        #expect(BluetoothUUID(0x1840).name == "Generic Health Sensor")
        #expect(BluetoothUUID(0x2A1F).name == "Temperature Celsius")
        #expect(BluetoothUUID(0x2908).name == "Report Reference")
        #expect(BluetoothUUID(0xFE9F).name == "Google")
        #expect(BluetoothUUID(0x180D).name == "Heart Rate")
    }

    @Test func `a device's kind is read by its name`() throws {
        try expectBothWays("4103", .appearance, Appearance(rawValue: 0x0341))
        #expect(Appearance(rawValue: 0x0341).description == "Heart Rate Belt")
        #expect(Appearance(rawValue: 0xFFFF).description == "65535")
    }
}
