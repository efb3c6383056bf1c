import BLEProtocol
import Testing

/// What descriptors say, from octets as the specification lays them out.
@Suite struct DescriptorValueTests {
    @Test(
        arguments: [
            (0x2900, [0x01, 0x00], Descriptor.Value.extendedProperties(.reliableWrite), "reliable write"),
            (0x2900, [0x03, 0x00], .extendedProperties([.reliableWrite, .writableAuxiliaries]), nil),
            (0x2900, [0x02], .extendedProperties(.writableAuxiliaries), "writable auxiliaries"),
            (0x2901, [0x48, 0x69], .userDescription("Hi"), "\"Hi\""),
            (0x2901, [], .userDescription(""), "\"\""),
            (0x2901, [0xFF, 0xFE], .octets([0xFF, 0xFE]), "2 octets"),
            (0x2902, [0x01, 0x00], .clientConfiguration(.notify), "notifications"),
            (0x2902, [0x02, 0x00], .clientConfiguration(.indicate), "indications"),
            (0x2902, [0x00, 0x00], .clientConfiguration([]), "off"),
            (0x2902, [0x00, 0x00, 0x00], .octets([0, 0, 0]), "3 octets"),
            (0x2903, [0x01, 0x00], .serverConfiguration(.broadcast), "broadcast"),
            (0x2905, [0x10, 0x00, 0x20, 0x01], .aggregateFormat([0x0010, 0x0120]), "formats at 0x0010, 0x0120"),
            (0x2905, [0x10], .octets([0x10]), "1 octet"),
            (0x2904, [0x0E, 0xFE, 0x2F], .octets([0x0E, 0xFE, 0x2F]), "3 octets"),
            (0x2908, [0x01, 0x02], .octets([1, 2]), "2 octets"),
        ] as [(UInt16, [UInt8], Descriptor.Value, String?)]
    )
    func `each type is decoded, and what doesn't fit it stays octets`(
        _ uuid: UInt16,
        _ octets: [UInt8],
        _ value: Descriptor.Value,
        _ text: String?
    ) {
        let decoded = Descriptor.Value(BluetoothUUID(uuid), octets: octets)
        #expect(decoded == value)
        if let text { #expect("\(decoded)" == text) }
    }

    @Test func `a presentation format is decoded, and encoded as it was`() throws {
        // sint16, hundredths, degrees Celsius, the Bluetooth SIG's name space, "main".
        let octets: [UInt8] = [0x0E, 0xFE, 0x2F, 0x27, 0x01, 0x06, 0x01]
        let format = try #require(Descriptor.PresentationFormat(octets: octets))
        #expect(format.format == .sint16 && format.exponent == -2 && format.unit == BluetoothUUID(0x272F))
        #expect(format.nameSpace == 1 && format.description == 0x0106)
        #expect(format.octets == octets)
        #expect("\(Descriptor.Value.presentationFormat(format))" == "sint16 × 10^-2, unit 272F")
        #expect(format.number(in: [0xC4, 0x09]) == 25)
        #expect(format.number(in: [0x18, 0xFC]) == -10)
        #expect(format.number(in: [0xC4]) == nil)
    }

    @Test(
        arguments: [
            (0x01, [0x01], 1), (0x04, [0xFF], 255), (0x06, [0x34, 0x12], 0x1234), (0x07, [0x01, 0x00, 0x80], 0x800001),
            (0x08, [0xFF, 0xFF, 0xFF, 0xFF], 4_294_967_295), (0x0C, [0xFF], -1), (0x0D, [0x00, 0xF8], -2048),
            (0x05, [0xFF, 0xFF], 4095), (0x0F, [0xFF, 0xFF, 0xFF], -1),
            (0x10, [0x00, 0x00, 0x00, 0x80], -2_147_483_648),
            (0x14, [0x00, 0x00, 0xC0, 0x3F], 1.5), (0x15, [0, 0, 0, 0, 0, 0, 0xF8, 0x3F], 1.5),
            (0x19, [0x31], nil), (0x16, [0x00, 0x00], nil), (0x00, [0x00], nil), (0xFF, [0x00], nil),
            (0x06, [0x00], nil),
        ] as [(UInt8, [UInt8], Double?)]
    )
    func `numbers of every width and sign are read`(_ format: UInt8, _ octets: [UInt8], _ number: Double?) {
        let presentation = Descriptor.PresentationFormat(format: Descriptor.PresentationFormat.Format(rawValue: format))
        #expect(presentation.number(in: octets) == number)
    }

    @Test func `exponents at both ends make no trouble`() {
        for exponent in [Int8.min, -1, 0, 1, Int8.max] {
            let format = Descriptor.PresentationFormat(format: .uint8, exponent: exponent)
            #expect(format.number(in: [0]) == 0 && format.number(in: [1]).map { $0 > 0 } == true)
        }
    }
}
