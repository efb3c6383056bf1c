package import BLEProtocol
import BLERadio

/// Secrets that tests plant, and that nothing may print.
///
/// What all tests print is looked through for them, and for others that tests use: `Tests/KernelLab/lab/leaks.py`.
package enum Planted {
    /// What every planted key begins with, as every key of the simulator's.
    package static let mark: [UInt8] = [0x5E, 0xC2, 0xE7, 0x4B, 0x1E, 0x55, 0x7A, 0x0D]

    /// A whole key; each number has its own.
    package static func octets(_ number: UInt8 = 0) -> [UInt8] {
        mark + [0x51, 0x62, 0x73, 0x84, 0x95, 0xA6, 0xB7, number]
    }

    /// With a zero in front: it must not be shown as a number either.
    package static let passkey: UInt32 = 62_481
    /// Another one.
    package static let otherPasskey: UInt32 = 730_914

    /// A value that is nobody's business.
    package static let value: [UInt8] = [0x13, 0x57, 0x9B, 0xDF, 0x02, 0x46, 0x8A, 0xCE]

    /// What Swift makes of a value wherever somebody prints it, in every way that there is.
    package static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return ["\(value)", String(describing: value), String(reflecting: value), dumped]
    }

    /// The planted secrets that somebody finds who prints a value.
    package static func shown(by value: Any) -> Set<String> {
        texts(of: value).reduce(into: []) { $0.formUnion(found(in: $1)) }
    }

    /// The planted secrets that are in a text.
    package static func found(in text: String) -> Set<String> {
        let text = text.lowercased()
        // What stands between octets: so dumps over several lines are read too.
        let numbers = text.split { !$0.isNumber && !$0.isLetter && $0 != "_" }.map { $0.filter { $0 != "_" } }
        var found: Set<String> = []
        for (name, octets) in [("key", mark), ("value", value)] {
            for octets in [octets, octets.reversed()] {
                let whole = octets.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                let hex = octets.map(hex)
                let decimal = octets.map { "\($0)" }
                let pairs = text.filter { $0.isLetter || $0.isNumber }
                if pairs.contains(hex.joined()) || numbers.contains("\(whole)") { found.insert(name) }
                let prefixed = [hex, octets.map { String($0, radix: 16) }].map { $0.map { "0x\($0)" } }
                if ([decimal] + prefixed).contains(where: { contains(numbers, $0) }) { found.insert(name) }
            }
        }
        for passkey in [passkey, otherPasskey] where numbers.contains(where: { UInt32($0) == passkey }) {
            found.insert("passkey")
        }
        return found
    }

    private static func hex(_ octet: UInt8) -> String { (octet < 16 ? "0" : "") + String(octet, radix: 16) }

    /// Whether a row of words has others in it, one behind the other; a dump has a dash before each.
    private static func contains(_ words: [String], _ wanted: [String]) -> Bool {
        guard words.count >= wanted.count else { return false }
        return (0...words.count - wanted.count).contains { Array(words[$0..<$0 + wanted.count]) == wanted }
    }
}

extension Bond {
    /// The adapter of ``planted(_:with:)``.
    package static let plantedAdapter = BluetoothAddress(rawValue: 0x00AA_0101_0001, kind: .public)

    /// A bond with planted keys, which say by their last octet which one it is.
    package static func planted(_ number: UInt8, with peer: BluetoothAddress) -> Bond {
        var bond = Bond(peer: peer, adapter: plantedAdapter)
        guard let key = SecretKey(octets: Planted.octets(number)) else { return bond }
        bond.encryptionKeys = [EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: key)]
        bond.identityKey = key
        return bond
    }
}
