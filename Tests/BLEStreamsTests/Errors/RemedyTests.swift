import BLEProtocol
import Testing

@testable import BLEStreams

/// Remedies that depend on what a peer permits.
@Suite struct RemedyTests {
    @Test func `a characteristic that sends nothing is to be read only if it permits that`() {
        let address = BluetoothAddress(rawValue: 0xC0DE_0000_0001, kind: .random)
        let cases: [(properties: Characteristic.Properties, mayBeRead: Bool)] = [
            ([.read], true), ([.read, .write], true), ([.write], false), ([], false),
        ]
        for (properties, mayBeRead) in cases {
            let characteristic = Characteristic(
                uuid: BluetoothUUID(0xA001),
                properties: properties,
                handle: 2,
                valueHandle: 3,
                endHandle: 3
            )
            let error = BLEError.cannotSend(characteristic, of: address)
            #expect(error.remedy.hasPrefix("Read it") == mayBeRead, "\(error)")
            #expect(error.remedy.hasPrefix("Use another") != mayBeRead, "\(error)")
        }
    }

    @Test(arguments: [ATTError.readNotPermitted, .writeNotPermitted])
    func `what is never permitted is not to be tried again, but something else`(refusal: ATTError) {
        let error = BLEError(GATTFailure.attribute(refusal, handle: 3), operation: "request", object: "handle 0x0003")
        #expect(error.attError == refusal && error.remedy.hasPrefix("Use another attribute"), "\(error)")
    }
}
