import Testing

@testable import BLEProtocol

/// Every error code. Source: Core Specification, Vol 3, Part F, Table 3.4, and the Core Specification Supplement, Part
/// B.
@Suite struct ATTErrorCodeTests {
    static let defined: [(octet: UInt8, error: ATTError, name: String)] = [
        (0x01, .invalidHandle, "Invalid Handle"),
        (0x02, .readNotPermitted, "Read Not Permitted"),
        (0x03, .writeNotPermitted, "Write Not Permitted"),
        (0x04, .invalidPDU, "Invalid PDU"),
        (0x05, .insufficientAuthentication, "Insufficient Authentication"),
        (0x06, .requestNotSupported, "Request Not Supported"),
        (0x07, .invalidOffset, "Invalid Offset"),
        (0x08, .insufficientAuthorization, "Insufficient Authorization"),
        (0x09, .prepareQueueFull, "Prepare Queue Full"),
        (0x0A, .attributeNotFound, "Attribute Not Found"),
        (0x0B, .attributeNotLong, "Attribute Not Long"),
        (0x0C, .encryptionKeySizeTooShort, "Encryption Key Size Too Short"),
        (0x0D, .invalidAttributeValueLength, "Invalid Attribute Value Length"),
        (0x0E, .unlikely, "Unlikely Error"),
        (0x0F, .insufficientEncryption, "Insufficient Encryption"),
        (0x10, .unsupportedGroupType, "Unsupported Group Type"),
        (0x11, .insufficientResources, "Insufficient Resources"),
        (0x12, .databaseOutOfSync, "Database Out Of Sync"),
        (0x13, .valueNotAllowed, "Value Not Allowed"),
        (0xFC, .writeRequestRejected, "Write Request Rejected"),
        (0xFD, .cccdImproperlyConfigured, "Client Characteristic Configuration Descriptor Improperly Configured"),
        (0xFE, .procedureAlreadyInProgress, "Procedure Already In Progress"),
        (0xFF, .outOfRange, "Out Of Range"),
    ]

    @Test(arguments: defined)
    func `a defined code is the octet on air, and says its name`(octet: UInt8, error: ATTError, name: String) {
        #expect(error.rawValue == octet)
        #expect("\(error)" == "\(name) (0x\(hex([octet]).uppercased()))")
        #expect(!error.isApplicationError)
        expectPDU(
            ATTErrorResponse(request: .writeRequest, handle: 0xFFFF, error: error),
            is: "01 12 ffff \(hex([octet]))"
        )
    }

    @Test func `codes of applications and unknown ones survive, and are told apart`() {
        let known = Set(Self.defined.map(\.octet))
        for octet in UInt8.min...UInt8.max where !known.contains(octet) {
            let error = ATTError(rawValue: octet)
            expectPDU(
                ATTErrorResponse(request: .readRequest, handle: 1, error: error),
                is: "01 0a 0100 \(hex([octet]))"
            )
            let isOfApplication = octet >= 0x80 && octet <= 0x9F
            #expect(error.isApplicationError == isOfApplication)
            let name = isOfApplication ? "Application Error" : "Unknown Error"
            #expect("\(error)" == "\(name) (0x\(hex([octet]).uppercased()))")
        }
    }

    @Test func `every code comes to whoever wrote`() {
        for octet in UInt8.min...UInt8.max {
            var bearer = Bearer()
            let id = bearer.begin(WriteValue(handle: 7, value: [1]))
            bearer.expect("12070001", answeredWith: "01120700\(hex([octet]))")
            bearer.expectFinished(.failure(id, .attribute(ATTError(rawValue: octet), handle: 7)))
        }
    }
}
