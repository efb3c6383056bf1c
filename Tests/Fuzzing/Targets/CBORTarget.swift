import BLEProtocol

@testable import BLEDevices

extension FuzzTarget {
    /// A data item: what is read is written in its shortest form, and read from it as the same.
    static let cbor = FuzzTarget("cbor", longest: 256, seeds: cborSeeds) { octets in
        do throws(CBORError) {
            let item = try CBORValue(decoding: octets)
            _ = (item["rc"], item.integer, item.bytes, item.text, item.bool, item.array)
            let written = item.encoded
            // Written again, since no NaN is equal to another one.
            let again = try CBORValue(decoding: written).encoded
            precondition(again == written, "\(item) is written otherwise the second time")
        } catch {}
    }

    private static let cborSeeds: [[UInt8]] = {
        let items: [CBORValue] = [
            .map([
                "rc": .integer(0), "off": .unsigned(70_000), "sha": .bytes([1, 2]),
                "list": .array([.null, .undefined]),
            ]),
            .array([.integer(-1), .integer(300), .negative(.max), .bool(true), .bool(false), .simple(255), .simple(3)]),
            .tagged(1 << 40, .double(.nan)), .double(1.5), .text("grüße"),
        ]
        // Of indefinite length, half and single precision.
        let others: [[UInt8]] = [
            [0x9F, 1, 0xFF], [0xBF, 0x61, 0x61, 1, 0xFF], [0x5F, 0x41, 1, 0xFF], [0x7F, 0x61, 0x61, 0xFF],
            [0xF9, 0x3C, 0], [0xF9, 0x7C, 0], [0xF9, 0, 1], [0xFA, 0x3F, 0x80, 0, 0],
        ]
        return items.map(\.encoded) + others
    }()
}
