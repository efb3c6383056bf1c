internal import BLEProtocol

/// Something that the kernel keeps though the program that asked for it has ended, however it did.
struct KernelThing: Hashable {
    enum Kind: String {
        case advertisement
        case monitor
        // Settings of the adapter, which are on.
        case bondable
        case secureConnections
        /// What this machine can do for a person who pairs.
        case capability
        /// That the adapter is off for a moment: it was on, and is to be on again.
        case off
    }

    var kind: Kind
    /// The instance of an advertisement, the handle of a monitor; 0 for a setting.
    var number: UInt16
    /// The adapter's address, or its name where it has none of its own.
    var adapter: String

    init(_ kind: Kind, _ number: UInt16, of adapter: AdapterFacts) {
        self.kind = kind
        self.number = number
        self.adapter = Self.name(of: adapter)
    }

    /// Reads the name of a note; `nil` for what is none.
    init?(noteName name: String) {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let kind = Kind(rawValue: String(parts[0])), let number = UInt16(parts[2]) else {
            return nil
        }
        self.kind = kind
        self.number = number
        adapter = String(parts[1])
    }

    /// By which it is found among the notes.
    var noteName: String { "\(kind.rawValue)-\(adapter)-\(number)" }

    static func name(of adapter: AdapterFacts) -> String {
        adapter.hasNoPublicAddress ? "hci\(adapter.number)" : "\(adapter.address)"
    }
}
