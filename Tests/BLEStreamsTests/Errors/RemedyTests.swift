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

    @Test(arguments: [
        (ATTError.procedureAlreadyInProgress, "has ended"), (.cccdImproperlyConfigured, "Subscribe"),
        (.valueNotAllowed, "allows"), (.outOfRange, "allows"),
    ])
    func `a reason that a profile defines is not said to be none`(refusal: ATTError, way: String) {
        let error = BLEError(.attribute(refusal, handle: 3), operation: "write", object: "to 2A52")
        #expect(error.remedy.contains(way) && !error.remedy.contains("no further reason"), "\(error)")
        #expect(error.attError == refusal && !error.isFinal)
    }

    @Test(arguments: [("write", "MTU - 3"), ("read", "by itself"), ("discovery", "all services"), ("connect", "lacks")])
    func `what a peer has no request for is to be done in another way`(operation: String, way: String) {
        let error = BLEError(.attribute(.requestNotSupported, handle: 0), operation: operation, object: "of A001")
        #expect(error.remedy.contains(way) && !error.remedy.contains("no further reason"), "\(error)")
    }

    @Test(arguments: ["write", "read"])
    func `what a peer does not support for one attribute is no request that it lacks`(operation: String) {
        let error = BLEError(.attribute(.requestNotSupported, handle: 3), operation: operation, object: "of A001")
        #expect(error.remedy.hasSuffix("does not support this for the attribute."), "\(error)")
    }

    @Test func `a read before which the services can't be found is not to be done in another way`() {
        let failure = LinkFailure.search(.attribute(.requestNotSupported, handle: 0))
        let error = BLEError(failure, operation: "read", object: "of A001", target: "A001", security: .none)
        #expect(error.attError == .requestNotSupported && !error.remedy.contains("by itself"), "\(error)")
    }

    @Test func `a peer's error names an attribute only if the peer does`() {
        let named = BLEError(.attribute(.unlikely, handle: 3), operation: "read", object: "of A001")
        #expect(named.cause.hasSuffix("for handle 0x0003"), "\(named)")
        let unnamed = BLEError(.attribute(.unlikely, handle: 0), operation: "read", object: "of A001")
        #expect(!unnamed.cause.contains("handle"), "\(unnamed)")
    }
}
