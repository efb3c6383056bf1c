import Testing

@testable import BLEProtocol

@Suite struct AdvertisingDataTests {
    private func data(_ text: String) -> AdvertisingData { AdvertisingData(bytes: WireText.octets(text)) }

    private func octets(_ text: String) -> ArraySlice<UInt8> { WireText.octets(text)[...] }

    // MARK: - Walking

    @Test func `structures come in order with their types and data`() {
        let structures = data("020106 0303 0d18 0109").map { ($0.type, WireText.text($0.data)) }
        #expect(structures.map(\.0) == [.flags, .completeServices16, .completeLocalName])
        #expect(structures.map(\.1) == ["06", "0d18", ""])
    }

    @Test(arguments: ["", "00", "00 020106", "05", "0509414243", "ff"])
    func `a zero length, an overrun and nothing at all end the walk at once`(text: String) {
        #expect(data(text).map(\.type).isEmpty)
    }

    @Test(arguments: ["020106 00 0303 0d18", "020106 04030d18", "020106 02"])
    func `what stands before the end of the walk counts`(text: String) {
        #expect(data(text).map(\.type) == [.flags])
        #expect(data(text).flags == .init(rawValue: 6))
        #expect(data(text).serviceUUIDs.isEmpty)
    }

    @Test(arguments: ["", "00", "0000 000000"])
    func `a scan response follows the last structure, whatever pads the advertisement`(_ padding: String) {
        let whole = data("020106" + padding).followed(by: octets("0309 4142"))
        #expect(whole == data("020106 0309 4142"))
        #expect(whole.localName == "AB")
        #expect(data(padding).followed(by: octets("0309 4142")) == data("0309 4142"))
    }

    @Test(arguments: ["01", "09160A1801", "ff09"])
    func `a structure that says to be longer than the advertisement takes nothing of the scan response`(_ cut: String) {
        let whole = data("020106" + cut).followed(by: octets("0309 4142"))
        #expect(whole == data("020106 0309 4142"))
        #expect(whole.localName == "AB")
    }

    @Test func `a walk that has ended stays at its end`() {
        var iterator = data("020106 00 020106").makeIterator()
        #expect(iterator.next() != nil)
        #expect(iterator.next() == nil)
        #expect(iterator.next() == nil)
    }

    @Test func `unknown types survive`() {
        #expect(data("0377abcd").map(\.type) == [AdvertisingData.FieldType(rawValue: 0x77)])
        #expect(
            "\(AdvertisingData.FieldType(rawValue: 0x77))" == "AD type 0x77"
                && "\(AdvertisingData.FieldType.uri)" == "URI"
        )
    }

    @Test func `an advertisement prints as hex`() {
        #expect("\(data("02010a"))" == "02010a")
    }

    // MARK: - Flags and names

    @Test func `flags`() {
        #expect(data("020106").flags == [.generalDiscoverable, .classicNotSupported])
        #expect(data("03010506").flags == [.limitedDiscoverable, .classicNotSupported])
        #expect(data("0101").flags == nil)
        #expect(data("020a04").flags == nil)
    }

    @Test func `the complete name goes before the shortened one`() {
        #expect(data("04 08 414243 06 09 4142434445").localName == "ABCDE")
        #expect(data("06 09 4142434445 04 08 414243").localName == "ABCDE")
        #expect(data("06 09 4142434445 04 08 414243").isLocalNameComplete)
        #expect(data("04 08 414243").localName == "ABC")
        #expect(!data("04 08 414243").isLocalNameComplete)
        #expect(data("020106").localName == nil)
    }

    @Test func `a name ends at a NUL or at what is no UTF-8, and has no blanks around it`() {
        #expect(data("0609 4142000043").localName == "AB")
        #expect(data("0609 4142ff4344").localName == "AB")
        #expect(data("0409 20c3a4").localName == "ä")
        #expect(data("0309 41c3").localName == "A")
        #expect(data("0609 2009410d0a").localName == "A")
        #expect(data("0409 202020").localName == "")
        #expect(data("0409 ff4142").localName == "")
        #expect(data("0409 ff4142").completeLocalNameOctets == octets("ff4142"))
    }

    // MARK: - Services

    @Test func `services of all widths are listed once, complete or not`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        let advertisement = data(
            "0302 0d18 0503 0f180d18 0505 78563412 1107 1bc5d5a50200469ae111b78d60b4452d"
        )
        let wide = BluetoothUUID(bits32: 0x1234_5678)
        #expect(advertisement.serviceUUIDs == [BluetoothUUID(0x180D), BluetoothUUID(0x180F), wide, own])
        #expect(advertisement.hasIncompleteServices)
        for service in advertisement.serviceUUIDs { #expect(advertisement.lists(service)) }
        #expect(!advertisement.lists(BluetoothUUID(0x180A)))
        #expect(!data("0303 0d18").hasIncompleteServices)
    }

    @Test func `a service is the same in every width`() {
        let full = data("1107 fb349b5f80000080001000000d180000 0503 0d180f18")
        #expect(full.serviceUUIDs == [BluetoothUUID(0x180D), BluetoothUUID(0x180F)])
    }

    @Test func `octets that are too few for a UUID are passed over`() {
        #expect(data("0403 0d1800").serviceUUIDs == [BluetoothUUID(0x180D)])
        #expect(data("0403 0d1800").lists(BluetoothUUID(0x180D)))
        #expect(data("0405 0d1800").serviceUUIDs.isEmpty)
    }

    @Test func `solicited services of all widths`() throws {
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        let advertisement = data("0314 0d18 051f 78563412 1115 1bc5d5a50200469ae111b78d60b4452d")
        let wide = BluetoothUUID(bits32: 0x1234_5678)
        #expect(advertisement.solicitedServiceUUIDs == [BluetoothUUID(0x180D), wide, own])
        #expect(!advertisement.lists(own))
        #expect(advertisement.serviceUUIDs.isEmpty)
    }

    @Test func `service data of all widths`() throws {
        let advertisement = data(
            "0516 0d18 0102 0620 78563412 aa 1221 1bc5d5a50200469ae111b78d60b4452d bb 0316 0f18 0216 0d"
        )
        let own: BluetoothUUID = "2D45B460-8DB7-11E1-9A46-0002A5D5C51B"
        #expect(advertisement.serviceData.map(\.service.description) == ["180D", "12345678", own.description, "180F"])
        #expect(advertisement.serviceData.map { WireText.text($0.data) } == ["0102", "aa", "bb", ""])
        #expect(advertisement.serviceData(for: own) == octets("bb"))
        #expect(advertisement.serviceData(for: BluetoothUUID(0x180F)) == [])
        #expect(advertisement.serviceData(for: BluetoothUUID(0x180A)) == nil)
    }

    // MARK: - The rest

    @Test func `manufacturer data of several companies`() {
        let advertisement = data("04ff 4c0001 05ff e0000203 02ff 4c 03ff 5900")
        #expect(advertisement.manufacturerData.map(\.company) == [0x004C, 0x00E0, 0x0059])
        #expect(advertisement.manufacturerData.map { WireText.text($0.data) } == ["01", "0203", ""])
        #expect(advertisement.manufacturerData(for: 0xE0) == octets("0203"))
        #expect(advertisement.manufacturerData(for: 0xE1) == nil)
    }

    @Test func `TX power and appearance`() {
        #expect(data("020aec").txPower == -20)
        #expect(data("010a").txPower == nil)
        #expect(data("0319c103").appearance == 0x03C1)
        #expect(data("0219c1").appearance == nil)
    }

    @Test func `the interval is a duration, whichever width it has`() {
        #expect(data("031a a000").advertisingInterval == .milliseconds(100))
        #expect(data("042f 000001").advertisingInterval == .microseconds(625 * 65536))
        #expect(data("052f 00000001").advertisingInterval == .microseconds(625 * 16_777_216))
    }

    @Test func `a URI's scheme is written out`() {
        #expect(data("0e24 17 2f2f6578616d706c652e6f72").uri == "https://example.or")
        #expect(data("0724 16 2f2f612e62").uri == "http://a.b")
        #expect(data("0524 01 613a62").uri == "a:b")
        // 0xBA, the last one that was assigned, takes two octets of UTF-8.
        #expect(data("0424 c2ba 61").uri == "ms-settings-cloudstorage:a")
        #expect(data("0424 c2bb 61").uri == nil)
        #expect(data("0324 17 ff").uri == nil)
        #expect(data("0124").uri == nil)
    }
}
