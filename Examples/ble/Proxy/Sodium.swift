import BLEStreams
import Glibc

/// The four primitives of a Noise session, from libsodium, which is loaded when needed.
struct Sodium: Sendable {
    private typealias Initialise = @convention(c) () -> Int32
    private typealias Multiply =
        @convention(c) (UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>, UnsafePointer<UInt8>) -> Int32
    private typealias MultiplyBase = @convention(c) (UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>) -> Int32
    private typealias Hash = @convention(c) (UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>, UInt64) -> Int32
    private typealias Authenticate =
        @convention(c) (UnsafeMutablePointer<UInt8>, UnsafePointer<UInt8>, UInt64, UnsafePointer<UInt8>) -> Int32
    private typealias Seal =
        @convention(c) (
            UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt64>?, UnsafePointer<UInt8>, UInt64,
            UnsafePointer<UInt8>, UInt64, UnsafePointer<UInt8>?, UnsafePointer<UInt8>, UnsafePointer<UInt8>
        ) -> Int32
    private typealias Open =
        @convention(c) (
            UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt64>?, UnsafeMutablePointer<UInt8>?,
            UnsafePointer<UInt8>, UInt64, UnsafePointer<UInt8>, UInt64, UnsafePointer<UInt8>, UnsafePointer<UInt8>
        ) -> Int32

    private let multiply: Multiply
    private let multiplyBase: MultiplyBase
    private let hash: Hash
    private let authenticate: Authenticate
    private let seal: Seal
    private let open: Open

    /// The size of a key, a public key, or a hash.
    static let size = 32

    /// The size of the tag after the encrypted octets.
    static let tagSize = 16

    /// Loads libsodium.
    ///
    /// - Throws: a `BLEError` if it isn't installed, or is too old.
    init() throws(BLEError) {
        let names = ["libsodium.so.23", "libsodium.so.26", "libsodium.so"]
        guard let library = names.lazy.compactMap({ dlopen($0, RTLD_NOW) }).first else { throw .noSodium }
        func symbol<Function>(_ name: String, as type: Function.Type) throws(BLEError) -> Function {
            guard let address = dlsym(library, name) else { throw .noSodium }
            return unsafeBitCast(address, to: type)
        }
        guard try symbol("sodium_init", as: Initialise.self)() >= 0 else { throw .noSodium }
        multiply = try symbol("crypto_scalarmult_curve25519", as: Multiply.self)
        multiplyBase = try symbol("crypto_scalarmult_curve25519_base", as: MultiplyBase.self)
        hash = try symbol("crypto_hash_sha256", as: Hash.self)
        authenticate = try symbol("crypto_auth_hmacsha256", as: Authenticate.self)
        seal = try symbol("crypto_aead_chacha20poly1305_ietf_encrypt", as: Seal.self)
        open = try symbol("crypto_aead_chacha20poly1305_ietf_decrypt", as: Open.self)
    }

    /// The public key that belongs to a private one.
    func publicKey(of key: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.size)
        _ = multiplyBase(&result, key)
        return result
    }

    /// The shared secret of two parties (X25519); `nil` if the other's public key is one that gives everybody the same.
    func sharedSecret(_ key: [UInt8], with other: [UInt8]) -> [UInt8]? {
        var result = [UInt8](repeating: 0, count: Self.size)
        return multiply(&result, key, other) == 0 ? result : nil
    }

    /// SHA-256.
    func digest(_ octets: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.size)
        _ = hash(&result, octets, UInt64(octets.count))
        return result
    }

    /// HMAC-SHA-256 with a key of 32 octets.
    func code(_ octets: [UInt8], _ key: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: Self.size)
        _ = authenticate(&result, octets, UInt64(octets.count), key)
        return result
    }

    /// ChaCha20-Poly1305: the encrypted octets, followed by the tag.
    func encrypt(_ octets: [UInt8], _ key: [UInt8], nonce: UInt64, authenticating data: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: octets.count + Self.tagSize)
        let length = UInt64(octets.count)
        _ = seal(&result, nil, octets, length, data, UInt64(data.count), nil, Self.octets(of: nonce), key)
        return result
    }

    /// The inverse; `nil` if the tag is wrong.
    func decrypt(_ octets: [UInt8], _ key: [UInt8], nonce: UInt64, authenticating data: [UInt8]) -> [UInt8]? {
        guard octets.count >= Self.tagSize else { return nil }
        // At least one octet, so that there is an address to write to.
        var result = [UInt8](repeating: 0, count: max(1, octets.count - Self.tagSize))
        let length = UInt64(octets.count)
        let failure = open(&result, nil, nil, octets, length, data, UInt64(data.count), Self.octets(of: nonce), key)
        return failure == 0 ? Array(result.prefix(octets.count - Self.tagSize)) : nil
    }

    private static func octets(of nonce: UInt64) -> [UInt8] {
        [0, 0, 0, 0] + (0..<8).map { UInt8(truncatingIfNeeded: nonce >> (8 * $0)) }
    }
}

extension BLEError {
    fileprivate static let noSodium = BLEError(
        .notSupported,
        operation: "proxy",
        object: "with --key",
        cause: "libsodium is not installed, or lacks a function",
        remedy: "Install it with `sudo apt-get install libsodium23`, or leave --key out."
    )
}
