/// The responder of a Noise session with the pattern NNpsk0, X25519, ChaCha20-Poly1305 and SHA-256: a peer that doesn't
/// know the key gets no further than the first message.
///
/// The Noise Protocol Framework, revision 34: 5.2 (symmetric state), 7.5 (NN), 9 (pre-shared keys).
struct NoiseSession {
    /// The cipher for one direction.
    struct Cipher {
        fileprivate let sodium: Sodium
        fileprivate let key: [UInt8]
        private var nonce: UInt64 = 0

        fileprivate init(_ sodium: Sodium, _ key: [UInt8]) {
            self.sodium = sodium
            self.key = key
        }

        mutating func encrypt(_ octets: [UInt8], authenticating data: [UInt8] = []) -> [UInt8] {
            defer { nonce += 1 }
            return sodium.encrypt(octets, key, nonce: nonce, authenticating: data)
        }

        /// `nil` if the sender doesn't have the key, or the message isn't the next one.
        mutating func decrypt(_ octets: [UInt8], authenticating data: [UInt8] = []) -> [UInt8]? {
            let result = sodium.decrypt(octets, key, nonce: nonce, authenticating: data)
            if result != nil { nonce += 1 }
            return result
        }
    }

    private let sodium: Sodium
    private let ephemeral: [UInt8]
    private var chainingKey: [UInt8]
    private var transcript: [UInt8]
    private var cipher: Cipher

    /// Begins a session.
    ///
    /// - Parameters:
    ///   - key: the pre-shared key: 32 octets.
    ///   - prologue: what was exchanged before.
    ///   - ephemeral: the private key of this session: 32 random octets.
    init(_ sodium: Sodium, key: [UInt8], prologue: [UInt8], ephemeral: [UInt8]) {
        self.sodium = sodium
        self.ephemeral = ephemeral
        let name = sodium.digest(Array("Noise_NNpsk0_25519_ChaChaPoly_SHA256".utf8))
        chainingKey = name
        transcript = name
        cipher = Cipher(sodium, name)
        mixHash(prologue)
        let keys = derive(key, count: 3)
        chainingKey = keys[0]
        mixHash(keys[1])
        cipher = Cipher(sodium, keys[2])
    }

    /// Reads the first message, and makes the second.
    ///
    /// - Returns: the answer, and the ciphers for receiving and sending from then on; `nil` if the other side has
    ///   another key.
    mutating func answer(_ message: ArraySlice<UInt8>) -> (message: [UInt8], receiving: Cipher, sending: Cipher)? {
        guard message.count >= Sodium.size else { return nil }
        let other = Array(message.prefix(Sodium.size))
        mixEphemeral(other)
        let content = Array(message.dropFirst(Sodium.size))
        guard cipher.decrypt(content, authenticating: transcript) != nil else { return nil }
        mixHash(content)

        let own = sodium.publicKey(of: ephemeral)
        mixEphemeral(own)
        guard let secret = sodium.sharedSecret(ephemeral, with: other) else { return nil }
        mixKey(secret)
        let tag = cipher.encrypt([], authenticating: transcript)
        mixHash(tag)
        let keys = derive([], count: 2)
        return (own + tag, receiving: Cipher(sodium, keys[0]), sending: Cipher(sodium, keys[1]))
    }

    /// With a pre-shared key, a public key is mixed into both.
    private mutating func mixEphemeral(_ key: [UInt8]) {
        mixHash(key)
        mixKey(key)
    }

    private mutating func mixHash(_ octets: [UInt8]) { transcript = sodium.digest(transcript + octets) }

    private mutating func mixKey(_ octets: [UInt8]) {
        let keys = derive(octets, count: 2)
        chainingKey = keys[0]
        cipher = Cipher(sodium, keys[1])
    }

    /// HKDF, as defined by Noise in 4.3.
    private func derive(_ octets: [UInt8], count: Int) -> [[UInt8]] {
        let secret = sodium.code(octets, chainingKey)
        var keys: [[UInt8]] = []
        for number in 1...count { keys.append(sodium.code((keys.last ?? []) + [UInt8(number)], secret)) }
        return keys
    }
}
