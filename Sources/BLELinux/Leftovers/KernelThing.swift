internal import BLEProtocol

/// Something that the kernel keeps after the program that requested it has ended, however it ended.
struct KernelThing: Hashable {
    enum Kind: String {
        case advertisement
        case monitor
        // Settings of the adapter that were switched on.
        case bondable
        case secureConnections
        /// The pairing capability that this machine claims.
        case capability
        /// The out-of-band data of a peer, which the kernel uses in each pairing with it.
        case outOfBandData
        /// The adapter is off briefly: it was on, and must be switched on again.
        case off
    }

    var kind: Kind
    /// The instance of an advertisement, the handle of a monitor; 0 for a setting.
    var number: UInt16
    /// The adapter's address, or its name if it has no address of its own.
    var adapter: String

    init(_ kind: Kind, _ number: UInt16, of adapter: AdapterFacts) {
        self.kind = kind
        self.number = number
        self.adapter = Self.name(of: adapter)
    }

    /// Reads the name of a note; `nil` if it is not one.
    init?(noteName name: String) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = Kind(rawValue: String(parts[0])), let number = UInt16(parts[2]) else {
            return nil
        }
        self.kind = kind
        self.number = number
        adapter = String(parts[1])
    }

    /// The name of its note.
    var noteName: String { "\(kind.rawValue)-\(adapter)-\(number)" }

    static func name(of adapter: AdapterFacts) -> String {
        adapter.hasNoPublicAddress ? "hci\(adapter.number)" : "\(adapter.address)"
    }
}
