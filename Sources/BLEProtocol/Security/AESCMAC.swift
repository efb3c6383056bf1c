/// AES-CMAC: a code of 16 octets that only the holder of the key can make for a message. Source: RFC 4493.
package struct AESCMAC: Sendable {
    private let cipher: AES128

    /// - Parameter key: 16 octets, most significant first.
    package init(key: [UInt8]) { cipher = AES128(key: key) }

    /// The code of a message of any length, most significant octet first.
    package func code(of message: [UInt8]) -> [UInt8] {
        let size = AES128.blockSize
        let subkey = Self.doubled(cipher.encrypt([UInt8](repeating: 0, count: size)))
        // All blocks but the last, which exists even if the message is empty.
        let whole = message.isEmpty ? 0 : (message.count - 1) / size * size
        var state = [UInt8](repeating: 0, count: size)
        for start in stride(from: 0, to: whole, by: size) {
            Self.add(message[start..<start + size], to: &state)
            state = cipher.encrypt(state)
        }
        let last = message[whole...]
        Self.add(last, to: &state)
        if last.count == size {
            Self.add(subkey[...], to: &state)
        } else {
            state[last.count] ^= 0x80
            Self.add(Self.doubled(subkey)[...], to: &state)
        }
        return cipher.encrypt(state)
    }

    private static func add(_ octets: ArraySlice<UInt8>, to state: inout [UInt8]) {
        var index = 0
        for octet in octets {
            state[index] ^= octet
            index += 1
        }
    }

    /// The product with x in the field of 2^128 elements (RFC 4493, 2.3).
    private static func doubled(_ block: [UInt8]) -> [UInt8] {
        var shifted = zip(block, block.dropFirst() + [0]).map { $0 << 1 | $1 >> 7 }
        if let first = block.first, first & 0x80 != 0 { shifted[block.count - 1] ^= 0x87 }
        return shifted
    }
}

extension AESCMAC: CustomStringConvertible, CustomReflectable {
    /// Without the key.
    package var description: String { "AES-CMAC" }
    /// Without the key.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
