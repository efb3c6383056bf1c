import BLEStreams
import Testing

@testable import ble

/// The two ways in which messages are put on a connection.
@Suite(.enabled(if: (try? Sodium()) != nil, "libsodium is not installed")) struct ProxyChannelTests {
    private let identity = ProxyIdentity(
        name: "ble-proxy-test",
        address: BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .public),
        isEncrypted: true
    )

    private func encrypted() throws -> ProxyChannel {
        ProxyChannel(identity, ProxyChannel.Encryption(sodium: try Sodium(), key: Array(0..<32)))
    }

    @Test func `plain messages are taken in pieces of any size`() {
        let stream = octets("000001" + "00" + "0203" + "aabb" + "000007")
        for size in 1...stream.count {
            var channel = ProxyChannel(identity, nil)
            var messages: [ProxyChannel.Message] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                let received = channel.receive(Array(stream[start..<min(start + size, stream.count)]))
                #expect(received.violation == nil && received.reply.isEmpty)
                messages += received.messages
            }
            #expect(messages.map(\.type) == [1, 3, 7])
            #expect(messages.map { Array($0.octets) } == [[], [0xAA, 0xBB], []])
        }
    }

    @Test func `a plain message is its length, its type and its octets`() {
        var channel = ProxyChannel(identity, nil)
        #expect(channel.send(93, [1, 2, 3]) == octets("00035d010203"))
        #expect(channel.send(145, []) == octets("00009101"))
    }

    @Test func `a message that no client sends is refused before it has come`() {
        var plain = ProxyChannel(identity, nil)
        #expect(plain.receive(octets("00ffffff7f01")).violation != nil)
        var endless = ProxyChannel(identity, nil)
        #expect(endless.receive([0] + Array(repeating: 0x80, count: 11)).violation != nil)
    }

    /// The client tells its user by that what is wrong.
    @Test func `a client without a key, and one with a key too many, are told`() throws {
        var encrypted = try encrypted()
        let withoutKey = encrypted.receive(octets("000001"))
        #expect(withoutKey.violation != nil && withoutKey.reply == [1, 0, 19, 1] + Array("Bad indicator byte".utf8))
        var plain = ProxyChannel(identity, nil)
        let withKey = plain.receive(octets("010000"))
        #expect(withKey.violation != nil && withKey.reply.first == 0)
    }

    @Test func `what speaks another protocol is not said to have a key, or to need one`() throws {
        var (plain, encrypted) = (ProxyChannel(identity, nil), try encrypted())
        for received in [plain.receive(Array("GET /".utf8)), encrypted.receive(Array("GET /".utf8))] {
            let cause = try #require(received.violation?.cause)
            #expect(!cause.contains("key") && cause.contains("ESPHome"), "\(cause)")
            #expect(cause.hasSuffix("begins with 47"), "\(cause)")
        }
    }

    @Test func `a client with another key is told that its key is wrong`() throws {
        var channel = try encrypted()
        let greeting = channel.receive(octets("010000"))
        let name = Array("ble-proxy-test\0c4f2171a1dbb\0".utf8)
        #expect(greeting.reply == [1, 0, UInt8(1 + name.count), 1] + name)
        let noise = [UInt8](repeating: 7, count: 48)
        let received = channel.receive([1, 0, 49, 0] + noise)
        #expect(received.violation != nil && received.reply == [1, 0, 22, 1] + Array("Handshake MAC failure".utf8))
        #expect(channel.send(8, []).isEmpty)
    }

    @Test func `what isn't a handshake ends it`() throws {
        for frame in [[], [0], [1] + [UInt8](repeating: 0, count: 48), [UInt8](repeating: 0, count: 33)] {
            var channel = try encrypted()
            _ = channel.receive(octets("010000"))
            #expect(channel.receive([1, 0, UInt8(frame.count)] + frame).violation != nil)
        }
    }

    @Test func `octets of chance never do worse than end a connection`() throws {
        var chance = SystemRandomNumberGenerator()
        for round in 0..<400 {
            var channel = round.isMultiple(of: 2) ? try encrypted() : ProxyChannel(identity, nil)
            for _ in 0..<8 {
                let indicator: UInt8 = round.isMultiple(of: 2) ? 1 : 0
                let received = channel.receive(
                    [indicator] + (0..<Int.random(in: 0...64, using: &chance)).map { _ in .random(in: 0...255) }
                )
                for message in received.messages { _ = try? ProxyRequest(type: message.type, message.octets) }
                if received.violation != nil { break }
            }
        }
    }
}

/// Against the Noise implementation noiseprotocol 0.3.1, with these ephemeral keys and this key on both sides.
@Suite(.enabled(if: (try? Sodium()) != nil, "libsodium is not installed")) struct NoiseSessionTests {
    private static let first = "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254"
    private static let firstTag = "8b18e980a5463f4f4ed6a227d01eebb1"
    private static let second =
        "79a631eede1bf9c98f12032cdeadd0e7a079398fc786b88cc846ec89af85a51a08d629a47626962aacde23c4ab9801ba"

    private func session(key: [UInt8] = Array(0..<32)) throws -> NoiseSession {
        NoiseSession(
            try Sodium(),
            key: key,
            prologue: Array("NoiseAPIInit\0\0".utf8),
            ephemeral: Array(64..<96)
        )
    }

    @Test func `the handshake and what comes and goes then are those of another implementation`() throws {
        var session = try session()
        let answered = session.answer(octets(Self.first + Self.firstTag)[...])
        let answer = try #require(answered)
        #expect(answer.message == octets(Self.second))
        var (receiving, sending) = (answer.receiving, answer.sending)
        #expect(receiving.decrypt(octets("afbae0af0dbdc3401d75a99aae3589b13248825e")) == [0, 7, 0, 0])
        #expect(receiving.decrypt(octets("85357af01978c47b1520c0cf3cc006bc5e8a3da7")) == [0, 9, 0, 0])
        #expect(sending.encrypt([0, 8, 0, 0]) == octets("850a850c35736215a3d03699119cd8b857f6fe8b"))
        #expect(sending.encrypt(Array("second".utf8)) == octets("a6baed0764c8bdb863c64402aa55292f9c1afe6d73d0"))
    }

    @Test func `a message that comes twice, or was changed, is not taken`() throws {
        var session = try session()
        let answered = session.answer(octets(Self.first + Self.firstTag)[...])
        var receiving = try #require(answered).receiving
        let message = octets("afbae0af0dbdc3401d75a99aae3589b13248825e")
        var changed = message
        changed[2] ^= 1
        #expect(receiving.decrypt(changed) == nil)
        #expect(receiving.decrypt(message) != nil)
        #expect(receiving.decrypt(message) == nil)
        #expect(receiving.decrypt([]) == nil)
    }

    @Test func `who has another key gets no answer`() throws {
        var session = try session(key: Array(1..<33))
        #expect(session.answer(octets(Self.first + Self.firstTag)[...]) == nil)
    }

    @Test func `a public key that gives everybody the same secret is refused`() throws {
        let sodium = try Sodium()
        #expect(sodium.sharedSecret(Array(64..<96), with: [UInt8](repeating: 0, count: 32)) == nil)
    }
}
