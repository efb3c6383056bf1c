/// The error code of an ATT Error Response; unknown codes are kept.
///
/// Source: Core Specification, Vol 3, Part F, 3.4.1.1, and the Core Specification Supplement, Part B.
public struct ATTError: Error, RawRepresentable, Hashable, Sendable {
    /// The octet on air.
    public let rawValue: UInt8

    /// Makes an error code from its octet; every octet is allowed.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The handle is not valid on this server.
    package static let invalidHandle = ATTError(rawValue: 0x01)
    /// The attribute can't be read.
    public static let readNotPermitted = ATTError(rawValue: 0x02)
    /// The attribute can't be written.
    public static let writeNotPermitted = ATTError(rawValue: 0x03)
    /// The PDU was invalid.
    package static let invalidPDU = ATTError(rawValue: 0x04)
    /// The attribute needs an authenticated link.
    public static let insufficientAuthentication = ATTError(rawValue: 0x05)
    /// The server doesn't support the request.
    package static let requestNotSupported = ATTError(rawValue: 0x06)
    /// The offset is beyond the end of the value.
    public static let invalidOffset = ATTError(rawValue: 0x07)
    /// The attribute needs the server's authorization.
    public static let insufficientAuthorization = ATTError(rawValue: 0x08)
    /// Too many prepared writes are queued.
    package static let prepareQueueFull = ATTError(rawValue: 0x09)
    /// No attribute was found within the range.
    package static let attributeNotFound = ATTError(rawValue: 0x0A)
    /// The attribute can't be read by Read Blob.
    package static let attributeNotLong = ATTError(rawValue: 0x0B)
    /// The encryption key is too short.
    public static let encryptionKeySizeTooShort = ATTError(rawValue: 0x0C)
    /// The value's length is wrong for the attribute.
    public static let invalidAttributeValueLength = ATTError(rawValue: 0x0D)
    /// An error that the server didn't expect.
    public static let unlikely = ATTError(rawValue: 0x0E)
    /// The attribute needs an encrypted link.
    public static let insufficientEncryption = ATTError(rawValue: 0x0F)
    /// The attribute type is not a grouping attribute.
    package static let unsupportedGroupType = ATTError(rawValue: 0x10)
    /// The server lacks resources.
    public static let insufficientResources = ATTError(rawValue: 0x11)
    /// The server's database changed: discover it again.
    package static let databaseOutOfSync = ATTError(rawValue: 0x12)
    /// The server doesn't allow this value.
    public static let valueNotAllowed = ATTError(rawValue: 0x13)
    /// A profile's rule refused the write.
    public static let writeRequestRejected = ATTError(rawValue: 0xFC)
    /// The Client Characteristic Configuration is not set as a profile requires.
    public static let cccdImproperlyConfigured = ATTError(rawValue: 0xFD)
    /// A procedure of the profile is already in progress.
    public static let procedureAlreadyInProgress = ATTError(rawValue: 0xFE)
    /// The value is out of the range that a profile defines.
    public static let outOfRange = ATTError(rawValue: 0xFF)

    /// Whether an application or a vendor defines the code (0x80 to 0x9F).
    package var isApplicationError: Bool { (0x80...0x9F).contains(rawValue) }
}

extension ATTError: CustomStringConvertible {
    /// The code's name in the specification, and the octet: `Read Not Permitted (0x02)`.
    public var description: String {
        "\(name) (\(rawValue.hexadecimal))"
    }

    private var name: String {
        switch self {
        case .invalidHandle: "Invalid Handle"
        case .readNotPermitted: "Read Not Permitted"
        case .writeNotPermitted: "Write Not Permitted"
        case .invalidPDU: "Invalid PDU"
        case .insufficientAuthentication: "Insufficient Authentication"
        case .requestNotSupported: "Request Not Supported"
        case .invalidOffset: "Invalid Offset"
        case .insufficientAuthorization: "Insufficient Authorization"
        case .prepareQueueFull: "Prepare Queue Full"
        case .attributeNotFound: "Attribute Not Found"
        case .attributeNotLong: "Attribute Not Long"
        case .encryptionKeySizeTooShort: "Encryption Key Size Too Short"
        case .invalidAttributeValueLength: "Invalid Attribute Value Length"
        case .unlikely: "Unlikely Error"
        case .insufficientEncryption: "Insufficient Encryption"
        case .unsupportedGroupType: "Unsupported Group Type"
        case .insufficientResources: "Insufficient Resources"
        case .databaseOutOfSync: "Database Out Of Sync"
        case .valueNotAllowed: "Value Not Allowed"
        case .writeRequestRejected: "Write Request Rejected"
        case .cccdImproperlyConfigured: "Client Characteristic Configuration Descriptor Improperly Configured"
        case .procedureAlreadyInProgress: "Procedure Already In Progress"
        case .outOfRange: "Out Of Range"
        default: isApplicationError ? "Application Error" : "Unknown Error"
        }
    }
}
