internal import BLEProtocol

/// The keys that the kernel has for an adapter, from any program: what a list that replaces it must contain.
///
/// No command of the management interface reads or extends the list, but debugfs shows it to root. With that, the bonds
/// of bluetoothd and of programs with their own stores are kept when ours are added. Source: kernel,
/// `net/bluetooth/hci_debugfs.c`, `long_term_keys_show`, `identity_resolving_keys_show`.
struct KernelKeyList: Hashable, Sendable {
    var longTerm: [ManagementLongTermKey]
    var identity: [ManagementIdentityResolvingKey]

    /// The kernel's current list; `nil` if this program may not read it, or doesn't understand it.
    ///
    /// - Throws: if it can't be read now because something has run out, such as descriptors.
    static func current(
        of adapter: String,
        on kernel: Kernel = .ofThisMachine
    ) throws(SystemError) -> KernelKeyList? {
        let folder = "/sys/kernel/debug/bluetooth/\(adapter)"
        do throws(SystemError) {
            guard let longTerm = try readWholeFile("\(folder)/long_term_keys", of: kernel),
                let identity = try readWholeFile("\(folder)/identity_resolving_keys", of: kernel)
            else { return nil }
            return KernelKeyList(longTerm: longTerm, identity: identity)
        } catch {
            guard error.isShortage else { return nil }
            throw error
        }
    }

    init(longTerm: [ManagementLongTermKey], identity: [ManagementIdentityResolvingKey]) {
        self.longTerm = longTerm
        self.identity = identity
    }

    /// Reads the two files; `nil` if a line is not as expected: a list with a gap would remove a key.
    init?(longTerm: String, identity: String) {
        var keys = KernelKeyList(longTerm: [], identity: [])
        for line in longTerm.split(separator: "\n") {
            guard let words = Line(line, count: 9) else { return nil }
            // A key for the current link only goes with the link.
            if words.number(4, radix: 16) == Self.shortTermKey { continue }
            guard let key = words.longTermKey else { return nil }
            if key.address.isIdentity { keys.longTerm.append(key) }
        }
        for line in identity.split(separator: "\n") {
            guard let words = Line(line, count: 5), let address = words.address, let value = words.key(3) else {
                return nil
            }
            keys.identity.append(ManagementIdentityResolvingKey(address: address, value: value))
        }
        self = keys
    }

    /// Whether all these keys are in the list, unchanged.
    func contains(_ other: KernelKeyList) -> Bool {
        Set(longTerm).isSuperset(of: other.longTerm) && Set(identity).isSuperset(of: other.identity)
    }

    /// Whether the kernel takes so many keys: a list is loaded by one command.
    var fits: Bool {
        longTerm.count <= ManagementLoadLongTermKeys.maximum
            && identity.count <= ManagementLoadIdentityResolvingKeys.maximum
    }

    /// Whether there is a key of a bond with a peer.
    func hasKeys(of peer: BluetoothAddress) -> Bool { longTerm.contains { $0.address == ManagementAddress(peer) } }

    /// The peers whose keys here differ from the given ones: none of a peer's keys is the same.
    func contested(by own: KernelKeyList) -> Set<ManagementAddress> {
        let same = Set(longTerm.filter(Set(own.longTerm).contains).map(\.address))
        return Set(own.longTerm.map(\.address)).intersection(longTerm.map(\.address)).subtracting(same)
    }

    /// These keys without those of some peers.
    func without(_ peers: Set<ManagementAddress>) -> KernelKeyList {
        KernelKeyList(
            longTerm: longTerm.filter { !peers.contains($0.address) },
            identity: identity.filter { !peers.contains($0.address) }
        )
    }

    /// These keys and the others, which replace those of the same peers.
    func replacing(with other: KernelKeyList) -> KernelKeyList {
        let peers = Set(other.longTerm.map(\.address))
        let identities = Set(other.identity.map(\.address))
        return KernelKeyList(
            longTerm: longTerm.filter { !peers.contains($0.address) } + other.longTerm,
            identity: identity.filter { !identities.contains($0.address) } + other.identity
        )
    }

    /// The kernel's `SMP_STK`.
    private static let shortTermKey: UInt64 = 0

    /// One line of the files: `C4:F2:17:1A:1D:BB (type 1) 0 0x03 16 0000 0000000000000000 <key>` for a long-term key,
    /// `C4:F2:17:1A:1D:BB (type 1) <key> 00:00:00:00:00:00` for an identity key.
    private struct Line {
        private let words: [Substring]

        init?(_ line: Substring, count: Int) {
            words = line.split(separator: " ")
            guard words.count == count, words[1] == "(type" else { return nil }
        }

        func number(_ word: Int, radix: Int = 10) -> UInt64? {
            let text = words[word].hasPrefix("0x") ? words[word].dropFirst(2) : words[word]
            return UInt64(text, radix: radix)
        }

        var address: ManagementAddress? {
            let kinds: [Substring: BluetoothAddress.Kind] = ["0)": .public, "1)": .random]
            guard let kind = kinds[words[2]],
                let value = UInt64(words[0].filter { $0 != ":" }, radix: 16), words[0].utf8.count == 17
            else { return nil }
            return ManagementAddress(BluetoothAddress(rawValue: value, kind: kind))
        }

        func key(_ word: Int) -> SecretKey? {
            let digits = Array(words[word].utf8)
            guard digits.count == 32 else { return nil }
            var octets: [UInt8] = []
            for place in stride(from: 0, to: 32, by: 2) {
                guard let octet = UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16) else {
                    return nil
                }
                octets.append(octet)
            }
            return SecretKey(octets: octets)
        }

        /// The key as the management interface numbers it: the kernel's kind and flag combined.
        var longTermKey: ManagementLongTermKey? {
            guard let address, let type = number(4, radix: 16), let authenticated = number(3), authenticated <= 1,
                let size = number(5).flatMap({ UInt8(exactly: $0) }),
                let diversifier = number(6, radix: 16).flatMap({ UInt16(exactly: $0) }),
                let random = number(7, radix: 16), let value = key(8)
            else { return nil }
            let kind: UInt8
            switch type {
            case 1, 2: kind = UInt8(authenticated)
            case 3: kind = 2 + UInt8(authenticated)
            case 4: kind = 4
            default: return nil
            }
            return ManagementLongTermKey(
                address: address,
                kind: ManagementLongTermKey.Kind(rawValue: kind),
                initiator: type == 1 ? 1 : 0,
                size: size,
                diversifier: diversifier,
                random: random,
                value: value
            )
        }
    }
}

extension ManagementAddress {
    /// Whether the address is permanent. The kernel accepts no key for another kind; such a key goes with its address.
    fileprivate var isIdentity: Bool { lowEnergy.map { $0.kind == .public || $0.rawValue >> 46 == 3 } ?? false }
}
