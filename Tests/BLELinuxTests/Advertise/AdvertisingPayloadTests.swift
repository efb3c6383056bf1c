import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct AdvertisingPayloadTests {
    private typealias Overflow = AdvertisingPayload.Overflow

    private static func data(_ count: Int) -> AdvertisingData {
        AdvertisingData(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test(arguments: [false, true], [true, false])
    func `what fits version 4 goes on air as that, for all to hear`(_ isExtended: Bool, _ isConnectable: Bool) throws {
        let request = AdvertiseRequest(
            data: Self.data(31),
            scanResponse: Self.data(31),
            isConnectable: isConnectable
        )
        let payload = try AdvertisingPayload(request, for: try AdvertisingFeatures.make(isExtended: isExtended))
        #expect(payload.flags == (isConnectable ? .connectable : []))
        #expect(payload.data == request.data && payload.scanResponse == request.scanResponse)
    }

    @Test(arguments: [(32, 0), (31, 32), (200, 51), (251, 0)])
    func `more goes on a secondary channel, in one piece`(_ data: Int, _ response: Int) throws {
        let request = AdvertiseRequest(data: Self.data(data), scanResponse: Self.data(response))
        let payload = try AdvertisingPayload(request, for: try AdvertisingFeatures.make(isExtended: true))
        #expect(payload.flags == [.connectable, .secondary1M])
        #expect(payload.data.bytes == request.data.bytes + request.scanResponse.bytes)
        #expect(payload.scanResponse.bytes.isEmpty)
    }

    @Test(
        arguments: [
            (32, 0, false, Overflow(part: .data, count: 32, limit: 31, isExtended: false)),
            (31, 40, false, Overflow(part: .scanResponse, count: 40, limit: 31, isExtended: false)),
            (252, 0, true, Overflow(part: .data, count: 252, limit: 251, isExtended: true)),
            (200, 52, true, Overflow(part: .both, count: 252, limit: 251, isExtended: true)),
        ] as [(Int, Int, Bool, AdvertisingPayload.Overflow)]
    )
    func `what has no room is refused with the size`(
        _ data: Int,
        _ response: Int,
        _ isExtended: Bool,
        _ overflow: AdvertisingPayload.Overflow
    ) throws {
        let features = try AdvertisingFeatures.make(isExtended: isExtended)
        #expect(throws: overflow) {
            try AdvertisingPayload(
                AdvertiseRequest(data: Self.data(data), scanResponse: Self.data(response)),
                for: features
            )
        }
        let error = BLEError.advertisementTooLong(overflow, on: "hci0")
        #expect(error.code == .overflow)
        #expect(error.cause.contains("\(overflow.count) octets") && error.cause.contains("\(overflow.limit) octets"))
        #expect(error.cause.contains("Bluetooth 5") == !isExtended)
    }
}
