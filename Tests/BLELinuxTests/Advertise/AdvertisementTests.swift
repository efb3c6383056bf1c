import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct AdvertisementTests {
    @Test(
        arguments: [
            (5, [], [5, 4, 3, 2, 1]), (5, [1], [5, 4, 3, 2]), (5, [4, 5], [3, 2, 1]), (3, [1, 2, 3], []), (0, [], []),
        ] as [(UInt8, [UInt8], [UInt8])]
    )
    func `takes the highest numbers that nobody has, out of the way of bluetoothd`(
        _ maximum: UInt8,
        _ inUse: [UInt8],
        _ free: [UInt8]
    ) throws {
        #expect(try AdvertisingFeatures.make(maximum: maximum, inUse: inUse).freeInstances == free)
    }
}

/// Answers to Read Advertising Features.
enum AdvertisingFeatures {
    static func make(
        maximum: UInt8 = 5,
        inUse: [UInt8] = [],
        isExtended: Bool = false
    ) throws -> ManagementReadAdvertisingFeatures.Response {
        let room: UInt8 = isExtended ? 251 : 31
        let octets: [UInt8] = [isExtended ? 0xFF : 0x7F, 0, 0, 0, room, room, maximum, UInt8(inUse.count)] + inUse
        var reader = ManagementReader(octets[...], subject: .answer(.readAdvertisingFeatures))
        return try .init(decoding: &reader)
    }
}
