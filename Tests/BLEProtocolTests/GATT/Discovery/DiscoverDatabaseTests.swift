import Testing

@testable import BLEProtocol

@Suite struct DiscoverDatabaseTests {
    /// Generic Access, Heart Rate with a reference to Battery, Battery as a secondary service, one of a vendor.
    private static let device = """
        1 2800 0018 5
        2 2803 020300002a
        3 2A00 41
        4 2803 020500012a
        5 2A01 0000
        10 2800 0d18 18
        11 2802 300034000f18
        12 2803 101300372a
        13 2A37 -
        14 2902 0000
        15 2803 021600382a
        16 2A38 00
        17 2901 41
        18 2904 00000000000000
        30 2801 0f18 34
        31 2803 123200192a
        32 2A19 64
        33 2902 0000
        40 2800 0f0e0d0c0b0a09080706050403020100 ffff
        41 2803 0842001f0e0d0c0b0a09080706050403020100
        42 00010203-0405-0607-0809-0A0B0C0D0E1F -
        43 2902 0000
        """

    private static let vendor: BluetoothUUID = "00010203-0405-0607-0809-0A0B0C0D0E0F"
    private static let vendorValue: BluetoothUUID = "00010203-0405-0607-0809-0A0B0C0D0E1F"

    private static func characteristic(
        _ uuid: UInt16,
        _ properties: Characteristic.Properties,
        _ handles: ClosedRange<UInt16>,
        _ descriptors: [(UInt16, UInt16)] = []
    ) -> Characteristic {
        Characteristic(
            uuid: BluetoothUUID(uuid),
            properties: properties,
            handle: handles.lowerBound,
            valueHandle: handles.lowerBound + 1,
            endHandle: handles.upperBound,
            descriptors: descriptors.map { Descriptor(uuid: BluetoothUUID($0.0), handle: $0.1) }
        )
    }

    private static let genericAccess = GATTService(
        uuid: BluetoothUUID(0x1800),
        handle: 1,
        endHandle: 5,
        characteristics: [characteristic(0x2A00, .read, 2...3), characteristic(0x2A01, .read, 4...5)]
    )
    private static let heartRate = GATTService(
        uuid: BluetoothUUID(0x180D),
        handle: 0x10,
        endHandle: 0x18,
        includedServices: [
            GATTService.Inclusion(uuid: BluetoothUUID(0x180F), handle: 0x11, startHandle: 0x30, endHandle: 0x34)
        ],
        characteristics: [
            characteristic(0x2A37, .notify, 0x12...0x14, [(0x2902, 0x14)]),
            characteristic(0x2A38, .read, 0x15...0x18, [(0x2901, 0x17), (0x2904, 0x18)]),
        ]
    )
    private static let battery = GATTService(
        uuid: BluetoothUUID(0x180F),
        isPrimary: false,
        handle: 0x30,
        endHandle: 0x34,
        characteristics: [characteristic(0x2A19, [.read, .notify], 0x31...0x34, [(0x2902, 0x33)])]
    )
    private static let vendorService = GATTService(
        uuid: vendor,
        handle: 0x40,
        endHandle: 0xFFFF,
        characteristics: [
            Characteristic(
                uuid: vendorValue,
                properties: .write,
                handle: 0x41,
                valueHandle: 0x42,
                endHandle: 0xFFFF,
                descriptors: [Descriptor(uuid: BluetoothUUID(0x2902), handle: 0x43)]
            )
        ]
    )

    @Test(arguments: [23, 65, 185, 517])
    func `the whole database is found, with a secondary service that is referred to`(mtu: Int) {
        var device = AnsweringDatabase(Self.device)
        device.mtu = mtu
        let expected = GATTDatabase(services: [
            Self.genericAccess, Self.heartRate, Self.battery, Self.vendorService,
        ])
        #expect(device.run(DiscoverDatabase()) == .success(expected))
    }

    @Test func `given services are found alone`() {
        var device = AnsweringDatabase(Self.device)
        let wanted = [Self.vendor, BluetoothUUID(0x1800), BluetoothUUID(0x181A), Self.vendor]
        let expected = GATTDatabase(services: [Self.genericAccess, Self.vendorService])
        #expect(device.run(DiscoverDatabase(services: wanted)) == .success(expected))
        #expect(device.run(DiscoverDatabase(services: [])) == .success(GATTDatabase()))
        #expect(device.run(DiscoverDatabase(services: [BluetoothUUID(0x181A)])) == .success(GATTDatabase()))
    }

    @Test func `a large ATT_MTU takes few requests`() {
        var device = AnsweringDatabase(Self.device)
        device.mtu = 517
        _ = device.run(DiscoverDatabase())
        // Services in both widths (2), includes (2), secondary services (2), characteristics in both widths (3),
        // descriptors up to the value of 128 bits (1), behind it (1), and behind the last (1).
        #expect(device.requests == 12)
    }

    @Test func `an empty database is a success`() {
        var device = AnsweringDatabase([])
        #expect(device.run(DiscoverDatabase()) == .success(GATTDatabase()))
        #expect(device.requests == 1)
    }

    @Test func `services that are a declaration alone hold nothing`() {
        var device = AnsweringDatabase("7 2800 0018 7")
        let expected = GATTDatabase(services: [GATTService(uuid: BluetoothUUID(0x1800), handle: 7, endHandle: 7)])
        #expect(device.run(DiscoverDatabase()) == .success(expected))
        #expect(device.run(DiscoverDatabase(services: [BluetoothUUID(0x1800)])) == .success(expected))
    }

    @Test func `a characteristic outside of every service is left out, one that leaves its service too`() {
        var device = AnsweringDatabase(
            """
            1 2800 0018 4
            2 2803 020300002a
            3 2A00 41
            4 2803 020500012a
            5 2A01 0000
            8 2803 020900022a
            9 2A02 00
            10 2800 0d18 11
            """
        )
        let expected = GATTDatabase(services: [
            GATTService(
                uuid: BluetoothUUID(0x1800),
                handle: 1,
                endHandle: 4,
                characteristics: [Self.characteristic(0x2A00, .read, 2...3)]
            ),
            GATTService(uuid: BluetoothUUID(0x180D), handle: 0x10, endHandle: 0x11),
        ])
        #expect(device.run(DiscoverDatabase()) == .success(expected))
    }

    @Test(arguments: ["01", "04", "06", "10"])
    func `a reference to a service that the peer can't list costs nothing else`(code: String) {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverDatabase())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 0100 0400 0018")
        bearer.expect("10 0500 ffff 0028", answeredWith: "01 10 0500 0a")
        bearer.expect("08 0100 ffff 0228", answeredWith: "09 08 0200 3000 3400 0f18")
        bearer.expect("08 0300 ffff 0228", answeredWith: "01 08 0300 0a")
        bearer.expect("10 0100 ffff 0128", answeredWith: "01 10 0100" + code)
        bearer.expect("08 0100 0400 0328", answeredWith: "09 07 0300 02 0400 002a")
        bearer.expect("08 0400 0400 0328", answeredWith: "01 08 0400 0a")
        bearer.expectSends()
        let service = GATTService(
            uuid: BluetoothUUID(0x1800),
            handle: 1,
            endHandle: 4,
            includedServices: [
                GATTService.Inclusion(uuid: BluetoothUUID(0x180F), handle: 2, startHandle: 0x30, endHandle: 0x34)
            ],
            characteristics: [Self.characteristic(0x2A00, .read, 3...4)]
        )
        bearer.expectFinished(.success(id, GATTDatabase(services: [service])))
    }

    @Test func `a link that is not secure enough fails the discovery`() {
        var bearer = Bearer()
        let id = bearer.begin(DiscoverDatabase())
        bearer.expect("10 0100 ffff 0028", answeredWith: "11 06 1000 ffff 0018")
        bearer.expect("08 0100 ffff 0228", answeredWith: "01 08 0100 06")
        bearer.expect("08 1000 ffff 0328", answeredWith: "01 08 1000 05")
        bearer.expectSends()
        bearer.expectFinished(.failure(id, .attribute(.insufficientAuthentication, handle: 0x10)))
    }
}
