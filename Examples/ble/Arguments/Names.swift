import BLEStreams

/// A peripheral as named on the command line.
struct PeripheralName {
    /// The text, which may stand for a public and a random address.
    let text: String

    /// Reads `C4:F2:17:1A:1D:BB`, optionally with `/public` or `/random` after it.
    init(_ text: String) throws(UsageError) {
        guard !BluetoothAddress.candidates(for: text).isEmpty else {
            let form = "write an address like C4:F2:17:1A:1D:BB, followed by /public or /random if you know the kind"
            throw UsageError("ADDRESS '\(text)': \(form)", discreetly: "ADDRESS: \(form)")
        }
        self.text = text
    }
}

/// A characteristic as named on the command line.
struct CharacteristicName: CharacteristicKey {
    typealias Value = CharacteristicValue

    /// The first characteristic of a type, or the attribute with a handle.
    let reference: CharacteristicReference

    /// The type of one of its descriptors, if that is meant.
    let descriptor: BluetoothUUID?

    static let descriptorNote = """
        CHARACTERISTIC/DESCRIPTOR names a descriptor by both UUIDs, like 2A37/2902.


        """

    /// Reads a handle if the text begins with `0x`, otherwise a UUID; `/` and the UUID of a descriptor may follow.
    ///
    /// `2A37` alone could be either: so a handle has its `0x`, as `ble info` prints it, and a UUID has none.
    init(_ whole: String, mayBeDescriptor: Bool = false) throws(UsageError) {
        let parts = whole.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let text = mayBeDescriptor ? parts[0] : whole
        descriptor = try parts.count == 2 && mayBeDescriptor ? Self.descriptor(parts[1], whole) : nil
        if text.hasPrefix("0x") || text.hasPrefix("0X") {
            guard let handle = UInt16(hexDigits: text.dropFirst(2)), handle > 0 else {
                let form = "write a handle as 0x0001 to 0xffff, a UUID without 0x"
                throw UsageError("CHARACTERISTIC '\(text)': \(form)", discreetly: "CHARACTERISTIC: \(form)")
            }
            reference = .handle(handle)
        } else {
            guard let uuid = BluetoothUUID(text) else {
                let form = "\(UsageError.uuidForm), or a handle like 0x0012"
                throw UsageError("CHARACTERISTIC '\(text)': \(form)", discreetly: "CHARACTERISTIC: \(form)")
            }
            reference = .uuid(uuid)
        }
    }

    private static func descriptor(_ text: String, _ whole: String) throws(UsageError) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(text) else {
            let form = "for the descriptor, \(UsageError.uuidForm)"
            throw UsageError(
                "CHARACTERISTIC/DESCRIPTOR '\(whole)': \(form)",
                discreetly: "CHARACTERISTIC/DESCRIPTOR: \(form)"
            )
        }
        return uuid
    }
}

extension CharacteristicName: CustomStringConvertible {
    var description: String { reference.handle.map { "handle \($0.handleText)" } ?? "\(reference)" }
}

extension UInt16 {
    /// Reads one to four hex digits; `nil` for anything else, also for a sign.
    init?(hexDigits text: some StringProtocol) {
        guard text.count <= 4, text.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else { return nil }
        self.init(text, radix: 16)
    }

    /// A handle in the form that the command accepts: `0x0012`.
    var handleText: String {
        let digits = String(self, radix: 16)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
