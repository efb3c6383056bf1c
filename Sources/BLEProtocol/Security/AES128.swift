/// AES encryption with a key of 128 bits, one block of 16 octets at a time.
///
/// The Attribute Protocol needs it for signatures and the Database Hash, a few blocks now and then. Secret octets index
/// its table, so don't use it where another program could measure the cache. Source: FIPS 197.
struct AES128: Sendable {
    /// Four columns of four octets, the first octet of each the most significant.
    private typealias Columns = (UInt32, UInt32, UInt32, UInt32)

    static let blockSize = 16

    /// The keys of the eleven rounds, four columns each.
    private let roundKeys: [UInt32]

    /// - Parameter key: 16 octets in the order of FIPS 197, most significant first.
    init(key: [UInt8]) {
        precondition(key.count == Self.blockSize, "an AES-128 key has 16 octets")
        let first = Self.columns(of: key)
        var keys = [first.0, first.1, first.2, first.3]
        keys.reserveCapacity(44)
        var constant: UInt32 = 1
        while keys.count < 44 {
            var column = keys[keys.count - 1]
            if keys.count.isMultiple(of: 4) {
                let rotated = Self.rotated(column, by: 8)
                column = Self.substituted(rotated, rotated, rotated, rotated) ^ constant << 24
                constant = Self.doubled(constant)
            }
            keys.append(keys[keys.count - 4] ^ column)
        }
        roundKeys = keys
    }

    /// Encrypts one block of 16 octets.
    func encrypt(_ block: [UInt8]) -> [UInt8] {
        precondition(block.count == Self.blockSize, "an AES block has 16 octets")
        var state = Self.columns(of: block)
        addRoundKey(0, &state)
        for round in 1...10 {
            let (a, b, c, d) = state
            state = (
                Self.substituted(a, b, c, d), Self.substituted(b, c, d, a),
                Self.substituted(c, d, a, b), Self.substituted(d, a, b, c)
            )
            if round < 10 {
                state = (Self.mixed(state.0), Self.mixed(state.1), Self.mixed(state.2), Self.mixed(state.3))
            }
            addRoundKey(round, &state)
        }
        var octets: [UInt8] = []
        octets.reserveCapacity(Self.blockSize)
        Self.append(state.0, to: &octets)
        Self.append(state.1, to: &octets)
        Self.append(state.2, to: &octets)
        Self.append(state.3, to: &octets)
        return octets
    }

    private func addRoundKey(_ round: Int, _ state: inout Columns) {
        state.0 ^= roundKeys[4 * round]
        state.1 ^= roundKeys[4 * round + 1]
        state.2 ^= roundKeys[4 * round + 2]
        state.3 ^= roundKeys[4 * round + 3]
    }

    /// A column of the next state: its four octets come from four columns, since the rows are shifted, and are
    /// substituted.
    private static func substituted(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32) -> UInt32 {
        UInt32(substitution[Int(a >> 24)]) << 24 | UInt32(substitution[Int(b >> 16 & 0xFF)]) << 16
            | UInt32(substitution[Int(c >> 8 & 0xFF)]) << 8 | UInt32(substitution[Int(d & 0xFF)])
    }

    /// MixColumns: each octet becomes twice itself, three times the next one, and the other two.
    private static func mixed(_ column: UInt32) -> UInt32 {
        let next = rotated(column, by: 8)
        return doubled(column ^ next) ^ next ^ rotated(column, by: 16) ^ rotated(column, by: 24)
    }

    private static func rotated(_ column: UInt32, by bits: UInt32) -> UInt32 {
        column &<< bits | column &>> (32 &- bits)
    }

    /// The product of each octet with x in the field of 256 elements.
    private static func doubled(_ column: UInt32) -> UInt32 {
        (column & 0x7F7F_7F7F) &<< 1 ^ (column &>> 7 & 0x0101_0101) &* 0x1B
    }

    private static func columns(of octets: [UInt8]) -> Columns {
        (column(of: octets, at: 0), column(of: octets, at: 4), column(of: octets, at: 8), column(of: octets, at: 12))
    }

    private static func column(of octets: [UInt8], at index: Int) -> UInt32 {
        UInt32(octets[index]) << 24 | UInt32(octets[index + 1]) << 16
            | UInt32(octets[index + 2]) << 8 | UInt32(octets[index + 3])
    }

    private static func append(_ column: UInt32, to octets: inout [UInt8]) {
        octets.append(UInt8(column >> 24))
        octets.append(UInt8(column >> 16 & 0xFF))
        octets.append(UInt8(column >> 8 & 0xFF))
        octets.append(UInt8(column & 0xFF))
    }

    // FIPS 197, figure 7.
    private static let substitution: [UInt8] = [
        0x63, 0x7C, 0x77, 0x7B, 0xF2, 0x6B, 0x6F, 0xC5, 0x30, 0x01, 0x67, 0x2B, 0xFE, 0xD7, 0xAB, 0x76,
        0xCA, 0x82, 0xC9, 0x7D, 0xFA, 0x59, 0x47, 0xF0, 0xAD, 0xD4, 0xA2, 0xAF, 0x9C, 0xA4, 0x72, 0xC0,
        0xB7, 0xFD, 0x93, 0x26, 0x36, 0x3F, 0xF7, 0xCC, 0x34, 0xA5, 0xE5, 0xF1, 0x71, 0xD8, 0x31, 0x15,
        0x04, 0xC7, 0x23, 0xC3, 0x18, 0x96, 0x05, 0x9A, 0x07, 0x12, 0x80, 0xE2, 0xEB, 0x27, 0xB2, 0x75,
        0x09, 0x83, 0x2C, 0x1A, 0x1B, 0x6E, 0x5A, 0xA0, 0x52, 0x3B, 0xD6, 0xB3, 0x29, 0xE3, 0x2F, 0x84,
        0x53, 0xD1, 0x00, 0xED, 0x20, 0xFC, 0xB1, 0x5B, 0x6A, 0xCB, 0xBE, 0x39, 0x4A, 0x4C, 0x58, 0xCF,
        0xD0, 0xEF, 0xAA, 0xFB, 0x43, 0x4D, 0x33, 0x85, 0x45, 0xF9, 0x02, 0x7F, 0x50, 0x3C, 0x9F, 0xA8,
        0x51, 0xA3, 0x40, 0x8F, 0x92, 0x9D, 0x38, 0xF5, 0xBC, 0xB6, 0xDA, 0x21, 0x10, 0xFF, 0xF3, 0xD2,
        0xCD, 0x0C, 0x13, 0xEC, 0x5F, 0x97, 0x44, 0x17, 0xC4, 0xA7, 0x7E, 0x3D, 0x64, 0x5D, 0x19, 0x73,
        0x60, 0x81, 0x4F, 0xDC, 0x22, 0x2A, 0x90, 0x88, 0x46, 0xEE, 0xB8, 0x14, 0xDE, 0x5E, 0x0B, 0xDB,
        0xE0, 0x32, 0x3A, 0x0A, 0x49, 0x06, 0x24, 0x5C, 0xC2, 0xD3, 0xAC, 0x62, 0x91, 0x95, 0xE4, 0x79,
        0xE7, 0xC8, 0x37, 0x6D, 0x8D, 0xD5, 0x4E, 0xA9, 0x6C, 0x56, 0xF4, 0xEA, 0x65, 0x7A, 0xAE, 0x08,
        0xBA, 0x78, 0x25, 0x2E, 0x1C, 0xA6, 0xB4, 0xC6, 0xE8, 0xDD, 0x74, 0x1F, 0x4B, 0xBD, 0x8B, 0x8A,
        0x70, 0x3E, 0xB5, 0x66, 0x48, 0x03, 0xF6, 0x0E, 0x61, 0x35, 0x57, 0xB9, 0x86, 0xC1, 0x1D, 0x9E,
        0xE1, 0xF8, 0x98, 0x11, 0x69, 0xD9, 0x8E, 0x94, 0x9B, 0x1E, 0x87, 0xE9, 0xCE, 0x55, 0x28, 0xDF,
        0x8C, 0xA1, 0x89, 0x0D, 0xBF, 0xE6, 0x42, 0x68, 0x41, 0x99, 0x2D, 0x0F, 0xB0, 0x54, 0xBB, 0x16,
    ]
}

extension AES128: CustomStringConvertible, CustomReflectable {
    /// Without the key.
    var description: String { "AES-128" }
    /// Without the key.
    var customMirror: Mirror { Mirror(self, children: []) }
}
