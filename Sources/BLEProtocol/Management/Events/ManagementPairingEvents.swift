/// A pairing made a key that encrypts the link.
package struct ManagementNewLongTermKey: Hashable, Sendable {
    /// Whether to keep the key; a peer that does not bond makes one for this link alone.
    package let storeHint: Bool
    package let key: ManagementLongTermKey

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        storeHint = try reader.uint8("store hint") != 0
        key = try ManagementLongTermKey(decoding: &reader)
    }
}

/// A pairing delivered the peer's identity, and the key that resolves its private addresses.
package struct ManagementNewIdentityResolvingKey: Hashable, Sendable {
    /// Whether to keep the key.
    package let storeHint: Bool
    /// The private address of the link over which the key came; zero if the peer used its identity address.
    package let privateAddress: BluetoothAddress
    package let key: ManagementIdentityResolvingKey

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        storeHint = try reader.uint8("store hint") != 0
        privateAddress = BluetoothAddress(rawValue: try reader.deviceAddress("private address"), kind: .random)
        key = try ManagementIdentityResolvingKey(decoding: &reader)
    }
}

/// A pairing made a key for signed writes.
package struct ManagementNewSignatureResolvingKey: Hashable, Sendable {
    /// Whether to keep the key.
    package let storeHint: Bool
    package let key: ManagementSignatureResolvingKey

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        storeHint = try reader.uint8("store hint") != 0
        key = try ManagementSignatureResolvingKey(decoding: &reader)
    }
}

/// The kernel asks whether a pairing is wanted, or whether both devices show the same number.
package struct ManagementUserConfirmationRequest: Hashable, Sendable {
    package let address: ManagementAddress
    /// The number to compare, shown with six digits; `nil` if the question is only whether to pair.
    package let value: UInt32?

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        let isHint = try reader.uint8("confirmation hint") != 0
        let number = try reader.uint32("value")
        value = isHint ? nil : number
    }
}

extension ManagementUserConfirmationRequest: CustomStringConvertible, CustomReflectable {
    /// The address, without the number.
    package var description: String { "confirmation \(value == nil ? "of the pairing" : "of a number") for \(address)" }
    package var customMirror: Mirror { Mirror(self, children: ["address": address]) }
}

/// The number that the user must enter on the other device.
package struct ManagementPasskeyNotify: Hashable, Sendable {
    package let address: ManagementAddress
    /// 0 to 999,999, shown with six digits.
    package let passkey: UInt32
    /// How many digits have been entered on the other device.
    package let entered: UInt8

    init(decoding reader: inout ManagementReader) throws(ManagementDecodingError) {
        address = try reader.address()
        passkey = try reader.uint32("passkey")
        entered = try reader.uint8("entered digits")
    }
}

extension ManagementPasskeyNotify: CustomStringConvertible, CustomReflectable {
    /// The address and the progress, without the passkey.
    package var description: String { "passkey for \(address), \(entered) digits entered" }
    package var customMirror: Mirror { Mirror(self, children: ["address": address, "entered": entered]) }
}
