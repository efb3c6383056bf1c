import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct AdvertisingPayloadTests {
    /// Takes so many octets on air.
    private static func data(_ octets: Int) -> [AdvertisingData.Field] {
        octets == 0 ? [] : [.manufacturerData(0xFFFF, Array(repeating: 7, count: octets - 4))]
    }

    @Test(arguments: [false, true], [true, false])
    func `what fits version 4 goes on air as that, for all to hear`(_ isExtended: Bool, _ isConnectable: Bool) throws {
        let request = AdvertiseRequest(
            Self.data(31),
            scanResponse: Self.data(31),
            isConnectable: isConnectable
        )
        let payload = try AdvertisingPayload(request, for: try AdvertisingFeatures.make(isExtended: isExtended))
        #expect(payload.flags == (isConnectable ? .connectable : []))
        #expect(payload.data.bytes.count == 31 && payload.scanResponse.bytes.count == 31)
        #expect(payload.interval == nil)
    }

    @Test(arguments: [(32, 0), (31, 32), (200, 51), (251, 0)])
    func `more goes on a secondary channel, in one piece`(_ data: Int, _ response: Int) throws {
        let request = AdvertiseRequest(Self.data(data), scanResponse: Self.data(response))
        let payload = try AdvertisingPayload(request, for: try AdvertisingFeatures.make(isExtended: true))
        #expect(payload.flags == [.connectable, .secondary1M])
        #expect(payload.data.bytes.count == data + response)
        #expect(payload.scanResponse.bytes.isEmpty)
    }

    @Test(arguments: [(32, 0, false), (31, 40, false), (252, 0, true), (200, 52, true)])
    func `what has no room is refused with the sizes`(_ data: Int, _ response: Int, _ isExtended: Bool) throws {
        let features = try AdvertisingFeatures.make(isExtended: isExtended)
        let request = AdvertiseRequest(Self.data(data), scanResponse: Self.data(response))
        let fault = #expect(throws: AdvertisingFault.self) { try AdvertisingPayload(request, for: features) }
        let error = try #require(fault).error(on: "hci0")
        #expect(error.code == .overflow)
        #expect(error.cause.contains("\(data + response) octets"))
        #expect(error.cause.contains(isExtended ? "251 octets" : "31 octets"))
        #expect(error.cause.contains("Bluetooth 5") == !isExtended)
    }
}
