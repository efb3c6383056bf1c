import Testing

@testable import BLEProtocol

@Suite struct AdvertisingLayoutTests {
    private let flags = AdvertisingData.Field.flags([.generalDiscoverable, .classicNotSupported])
    private let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"

    private func name(_ count: Int) -> AdvertisingData.Field { .localName(String(repeating: "n", count: count)) }

    /// Takes so many octets on air.
    private func data(_ octets: Int) -> AdvertisingData.Field {
        .manufacturerData(0xFFFF, Array(repeating: 0, count: octets - 4))
    }

    private func types(_ data: AdvertisingData) -> [AdvertisingData.FieldType] { data.map(\.type) }

    private func overflow(
        _ fields: [AdvertisingData.Field],
        scanResponse: [AdvertisingData.Field] = [],
        extendedLimit: Int? = nil
    ) -> BLEError? {
        #expect(throws: AdvertisingFault.self) {
            try AdvertisingLayout(fields, scanResponse: scanResponse, extendedLimit: extendedLimit)
        }?.error(on: "hci0")
    }

    @Test func `what fits stands in the advertisement, in the order of the declaration`() throws {
        let layout = try AdvertisingLayout([flags, .services([BluetoothUUID(0x180D)]), name(22)])
        #expect(layout.data.bytes.count == 31 && layout.scanResponse.bytes.isEmpty && !layout.isExtended)
        #expect(types(layout.data) == [.flags, .completeServices16, .completeLocalName])
    }

    @Test func `what doesn't is moved to the scan response`() throws {
        let layout = try AdvertisingLayout([flags, .services([BluetoothUUID(0x180D)]), name(23), .txPower(4)])
        #expect(types(layout.data) == [.flags, .completeServices16, .txPower])
        #expect(types(layout.scanResponse) == [.completeLocalName])
    }

    @Test func `lists of services of different widths are divided`() throws {
        let narrow = [BluetoothUUID(0x180D), BluetoothUUID(0x180F), BluetoothUUID(bits32: 0x1234_5678)]
        let services = AdvertisingData.Field.services([own] + narrow)
        let layout = try AdvertisingLayout([flags, services, name(10)])
        #expect(types(layout.data) == [.flags, .completeServices16, .completeServices32, .completeLocalName])
        #expect(types(layout.scanResponse) == [.completeServices128])
        #expect(Set(layout.data.serviceUUIDs + layout.scanResponse.serviceUUIDs).count == 4)
    }

    @Test(
        arguments: [
            [10, 12, 18, 19], [31, 31], [28, 31, 3], [4, 27, 5, 26], [5, 6, 7, 8, 9, 10, 11, 6], [16, 15, 15, 16],
        ]
    )
    func `no way to divide them is missed`(_ sizes: [Int]) throws {
        let fields = sizes.map { $0 < 4 ? AdvertisingData.Field.txPower(0) : data($0) }
        let layout = try AdvertisingLayout(fields)
        #expect(layout.data.bytes.count <= 31 && layout.scanResponse.bytes.count <= 31)
        #expect(layout.data.bytes.count + layout.scanResponse.bytes.count == sizes.reduce(0, +))
        // The first stands in the advertisement: whatever can be divided can be divided the other way round.
        #expect(layout.data.bytes.first.map(Int.init) == sizes[0] - 1)
    }

    @Test func `the flags are never moved, and what is declared for the scan response stands there`() throws {
        let layout = try AdvertisingLayout([data(15), data(14), flags], scanResponse: [.appearance(0x0341)])
        #expect(types(layout.data) == [.manufacturerData, .flags])
        #expect(types(layout.scanResponse) == [.manufacturerData, .appearance])
        #expect(throws: AdvertisingFault.flagsInScanResponse) { try AdvertisingLayout([], scanResponse: [flags]) }
    }

    @Test func `a beginning of the name in front and all of it in the response are no repetition`() throws {
        let beginning = AdvertisingData.Field.localName("nn", isComplete: false)
        let layout = try AdvertisingLayout([flags, beginning], scanResponse: [name(20)])
        #expect(types(layout.data) == [.flags, .shortenedLocalName])
        #expect(throws: AdvertisingFault.repeated(.completeLocalName)) {
            try AdvertisingLayout([beginning, name(3)])
        }
        let services = AdvertisingData.Field.services([BluetoothUUID(0x180D)])
        #expect(throws: AdvertisingFault.repeated(.completeServices16)) { try AdvertisingLayout([services, services]) }
        // The response says it already, so it isn't moved there.
        #expect(throws: AdvertisingFault.self) {
            try AdvertisingLayout([data(28), beginning], scanResponse: [name(3)])
        }
        // Data of several companies is.
        #expect(try AdvertisingLayout([data(5), data(5)]).data.bytes.count == 10)
    }

    @Test func `more makes one piece where the controller can`() throws {
        let layout = try AdvertisingLayout([flags, name(100)], scanResponse: [.txPower(0)], extendedLimit: 251)
        #expect(layout.isExtended && layout.scanResponse.bytes.isEmpty)
        #expect(types(layout.data) == [.flags, .completeLocalName, .txPower])
        #expect(try AdvertisingLayout([data(31), data(31)], extendedLimit: 251).isExtended == false)
        #expect(try AdvertisingLayout([data(251)], extendedLimit: 251).data.bytes.count == 251)
        let error = overflow([data(252)], extendedLimit: 251)
        #expect(error?.cause.contains("252 octets") == true && error?.cause.contains("251 octets") == true)
        #expect(error?.remedy.contains("shorten it by 1 octets") == true)
        // One structure's length is an octet, whatever the controller has room for.
        #expect(throws: AdvertisingFault.self) { try AdvertisingLayout([data(300)], extendedLimit: 1000) }
    }

    @Test func `what has no room names the octets of each field, and what helps`() {
        let error = overflow([flags, .services([BluetoothUUID(0x180D)]), name(40)])
        #expect(error?.code == .overflow)
        #expect(error?.cause.contains("49 octets (flags 3, services 4, local name") == true)
        #expect(error?.cause.contains("31 octets") == true && error?.cause.contains("Bluetooth 5") == true)
        #expect(error?.remedy.hasPrefix("Leave out local name") == true)
        #expect(error?.remedy.contains("shorten it by 11 octets") == true)
    }

    /// A peripheral has services that it doesn't advertise: they needn't go.
    @Test func `what selects the services is named where fewer must be advertised`() {
        let services: [BluetoothUUID] = [
            "7A1C0070-5F2B-4C8E-9D3A-6B70E14F2C55", "7A1C0080-5F2B-4C8E-9D3A-6B70E14F2C55",
        ]
        let error = overflow([flags, .services(services), name(4)])
        #expect(error?.remedy.hasPrefix("Leave out services (`LocalPeripheral.advertisedServices` selects") == true)
    }

    @Test func `each field that alone would do is named, and where none would, those that go together`() {
        let one = overflow([
            flags, data(20), .serviceData(BluetoothUUID(0xFCD2), Array(repeating: 0, count: 20)), name(15),
        ])
        #expect(one?.remedy.contains("manufacturer data") == true && one?.remedy.contains("local name") == true)
        #expect(one?.remedy.contains("service data of FCD2") == true)
        #expect(one?.remedy.contains("flags") == false)
        let two = overflow([flags, name(40), data(40)])
        #expect(two?.remedy.hasPrefix("Leave out local name") == true)
        #expect(two?.remedy.contains(" and manufacturer data") == true)
    }

    /// A peripheral that centrals may connect to has them in any case.
    @Test func `to leave out the flags is not advised, though that would do`() {
        let service: BluetoothUUID = "7A1C0070-5F2B-4C8E-9D3A-6B70E14F2C55"
        let fields = [.services([service]), data(12), name(29)]
        #expect(throws: Never.self) { try AdvertisingLayout(fields) }
        let error = overflow([flags] + fields)
        #expect(error?.remedy.contains("flags") == false)
        #expect(error?.remedy.hasPrefix("Leave out services") == true)
    }

    @Test func `an interval is that of every controller, in steps of 0.625 ms`() throws {
        let layout = try AdvertisingLayout([], interval: .milliseconds(100) ... .milliseconds(150))
        #expect(layout.interval == 160...240)
        #expect(try AdvertisingLayout([], interval: AdvertisingLayout.intervals).interval == 0x20...0x4000)
        for interval: ClosedRange<Duration> in [.zero ... .seconds(1), .seconds(1) ... .seconds(11)] {
            let fault = #expect(throws: AdvertisingFault.self) { try AdvertisingLayout([], interval: interval) }
            #expect(fault?.error(on: "hci0").code == .invalidArgument)
        }
    }

    @Test func `what was received can be sent again`() throws {
        let received = AdvertisingData(bytes: [2, 1, 6, 3, 9, 0x41, 0x42, 9, 1])
        #expect(try AdvertisingLayout(received.fields).data.bytes == [2, 1, 6, 3, 9, 0x41, 0x42])
    }
}
