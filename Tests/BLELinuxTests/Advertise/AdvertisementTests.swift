import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct AdvertisementTests {
    /// The answer to Read Advertising Features: flags, 31 and 31 octets, so many instances, those in use.
    private func features(maximum: UInt8, inUse: [UInt8]) throws -> ManagementReadAdvertisingFeatures.Response {
        let octets: [UInt8] = [0x7F, 0, 0, 0, 31, 31, maximum, UInt8(inUse.count)] + inUse
        var reader = ManagementReader(octets[...], subject: .answer(.readAdvertisingFeatures))
        return try .init(decoding: &reader)
    }

    @Test(
        arguments: [
            (5, [], 5), (5, [1], 5), (5, [4, 5], 3), (5, [3, 4, 5], 2), (3, [1, 2, 3], nil), (0, [], nil),
        ] as [(UInt8, [UInt8], UInt8?)]
    )
    func `takes the highest number that nobody has, out of the way of bluetoothd`(
        _ maximum: UInt8,
        _ inUse: [UInt8],
        _ free: UInt8?
    ) throws {
        #expect(try features(maximum: maximum, inUse: inUse).freeInstance == free)
    }
}
