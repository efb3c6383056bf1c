import BLEStreams

/// Converts between a stream of octets and messages. It reads and writes nothing itself.
///
/// A plain message is `00`, its length and its type as base-128 numbers, and its octets. An encrypted one is `01`, the
/// length in two octets, and the encryption of type, length (two octets each) and octets; a greeting and the two
/// messages of the handshake come first.
struct ProxyChannel {
    /// One message.
    struct Message: Equatable {
        let type: UInt64
        let octets: ArraySlice<UInt8>
    }

    /// The result of some octets.
    struct Received {
        var messages: [Message] = []

        /// What must be sent back first.
        var reply: [UInt8] = []

        /// Why the connection is then closed; `nil`: it isn't.
        var violation: ProxyViolation?
    }

    /// The parts of the encrypted channel.
    struct Encryption: Sendable {
        let sodium: Sodium
        let key: [UInt8]
    }

    private enum State {
        case plain
        case greeting(Encryption)
        case handshake(Encryption)
        case encrypted(receiving: NoiseSession.Cipher, sending: NoiseSession.Cipher)
    }

    /// No message from a client is nearly this long: a value has 512 octets.
    private static let limit = 16_384

    private let identity: ProxyIdentity
    private var state: State
    private var waiting: [UInt8] = []

    init(_ identity: ProxyIdentity, _ encryption: Encryption?) {
        self.identity = identity
        state = encryption.map { .greeting($0) } ?? .plain
    }

    /// Takes received octets, in pieces of any size.
    mutating func receive(_ octets: [UInt8]) -> Received {
        waiting += octets
        var result = Received()
        do throws(ProxyViolation) {
            while try takeFrame(&result) {}
        } catch {
            result.violation = error
        }
        return result
    }

    /// The octets of a message; none until the handshake is over.
    mutating func send(_ type: UInt64, _ octets: [UInt8]) -> [UInt8] {
        switch state {
        case .plain:
            var frame: [UInt8] = [0]
            frame.appendVarint(UInt64(octets.count))
            frame.appendVarint(type)
            return frame + octets
        case .greeting, .handshake: return []
        case .encrypted(let receiving, var sending):
            let header = [UInt16(truncatingIfNeeded: type), UInt16(truncatingIfNeeded: octets.count)]
            let sealed = sending.encrypt(header.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] } + octets)
            state = .encrypted(receiving: receiving, sending: sending)
            return Self.frame(sealed)
        }
    }

    // MARK: - Taking frames

    /// Takes one frame, if it is complete.
    private mutating func takeFrame(_ result: inout Received) throws(ProxyViolation) -> Bool {
        guard let indicator = waiting.first else { return false }
        if case .plain = state {
            guard indicator == 0 else {
                // An empty message without a type tells clients that no key is used here.
                result.reply += [0, 0, 0]
                throw indicator == 1 ? ProxyViolation("it uses a key, and this proxy has none") : .foreign(indicator)
            }
            return try takePlainFrame(&result)
        }
        guard indicator == 1 else {
            // This tells clients that they need a key.
            result.reply += Self.frame([1] + Array("Bad indicator byte".utf8))
            throw indicator == 0 ? ProxyViolation("it uses no key, and this proxy needs one") : .foreign(indicator)
        }
        guard waiting.count >= 3 else { return false }
        let length = Int(waiting[1]) << 8 | Int(waiting[2])
        guard length <= Self.limit else { throw ProxyViolation("a message of \(length) octets") }
        guard waiting.count >= 3 + length else { return false }
        let content = Array(waiting[3..<3 + length])
        waiting.removeFirst(3 + length)
        try take(content, &result)
        return true
    }

    private mutating func takePlainFrame(_ result: inout Received) throws(ProxyViolation) -> Bool {
        var rest = waiting.dropFirst()
        guard let length = rest.takeVarintIfWhole(), let type = rest.takeVarintIfWhole() else { return false }
        let count = try length.get()
        guard count <= UInt64(Self.limit) else { throw ProxyViolation("a message of \(count) octets") }
        guard rest.count >= Int(count) else { return false }
        result.messages.append(Message(type: try type.get(), octets: rest.prefix(Int(count))))
        waiting = Array(rest.dropFirst(Int(count)))
        return true
    }

    private mutating func take(_ content: [UInt8], _ result: inout Received) throws(ProxyViolation) {
        switch state {
        case .plain: return
        case .greeting(let encryption):
            // The protocol's number, then the identity of this proxy.
            let names = "\(identity.name)\0\(identity.address.octetsText)\0"
            result.reply += Self.frame([1] + Array(names.utf8))
            state = .handshake(encryption)
            guard content.isEmpty else { throw ProxyViolation("its greeting has \(content.count) octets") }
        case .handshake(let encryption):
            var session = NoiseSession(
                encryption.sodium,
                key: encryption.key,
                prologue: Array("NoiseAPIInit\0\0".utf8),
                ephemeral: (0..<Sodium.size).map { _ in .random(in: 0...255) }
            )
            guard content.first == 0, let answer = session.answer(content.dropFirst()) else {
                result.reply += Self.frame([1] + Array("Handshake MAC failure".utf8))
                throw ProxyViolation("it has another key")
            }
            result.reply += Self.frame([0] + answer.message)
            state = .encrypted(receiving: answer.receiving, sending: answer.sending)
        case .encrypted(var receiving, let sending):
            guard let message = receiving.decrypt(content), message.count >= 4 else {
                throw ProxyViolation("a message can't be decrypted")
            }
            state = .encrypted(receiving: receiving, sending: sending)
            let type = UInt64(message[0]) << 8 | UInt64(message[1])
            result.messages.append(Message(type: type, octets: message.dropFirst(4)))
        }
    }

    private static func frame(_ content: [UInt8]) -> [UInt8] {
        [1, UInt8(content.count >> 8 & 0xFF), UInt8(content.count & 0xFF)] + content
    }
}

extension ProxyViolation {
    /// What has connected is no client at all, but for example a browser: a key would not help it.
    fileprivate static func foreign(_ indicator: UInt8) -> ProxyViolation {
        ProxyViolation("it does not speak the protocol of ESPHome, where no message begins with \([indicator].hexText)")
    }
}

extension BluetoothAddress {
    /// Its octets without colons, in lower case, as in the greeting.
    fileprivate var octetsText: String { description.lowercased().filter { $0 != ":" } }
}
