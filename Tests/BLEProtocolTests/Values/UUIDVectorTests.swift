import Testing

@testable import BLEProtocol

/// What BlueZ's tests say of UUIDs.
@Suite(.enabled(if: VectorFile.arePresent, VectorFile.why)) struct UUIDVectorTests {
    private struct Vectors: Decodable {
        struct Valid: Decodable {
            let name: String
            let text: String
            let sizeBits: Int
            let canonical128: String
            let octetsMsbFirst: String
            let octetsOnAirLsbFirst: String
            let octets128OnAirLsbFirst: String
            let value: UInt32?
        }
        struct Equal: Decodable {
            let a: String
            let b: String
            let equal: Bool
        }
        struct Compression: Decodable {
            let text: String
            let compressesTo: String?
        }
        let valid: [Valid]
        let equal: [Equal]
        let compress: [Compression]
        let malformed: [String]
    }

    private func load() throws -> Vectors { try VectorFile.load("uuid_vectors.json", as: Vectors.self) }

    @Test func `valid text is read`() throws {
        let valid = try load().valid
        for vector in valid {
            let comment = Comment(rawValue: vector.name)
            let uuid = try #require(BluetoothUUID(vector.text), comment)
            #expect(BluetoothUUID(vector.canonical128) == uuid, comment)
            #expect(WireText.text(uuid.littleEndianOctets128.reversed()) == vector.octetsMsbFirst, comment)
            #expect(WireText.text(uuid.littleEndianOctets128) == vector.octets128OnAirLsbFirst, comment)
            #expect(BluetoothUUID(littleEndian: WireText.octets(vector.octets128OnAirLsbFirst)) == uuid, comment)
            #expect(BluetoothUUID(littleEndian: WireText.octets(vector.octetsOnAirLsbFirst)) == uuid, comment)
            if let value = vector.value { #expect(uuid.bits32 == value, comment) }
            switch vector.sizeBits {
            case 16: #expect(WireText.text(uuid.attOctets) == vector.octetsOnAirLsbFirst, comment)
            case 32: #expect(WireText.text(uuid.shortestOctets) == vector.octetsOnAirLsbFirst, comment)
            default: #expect(WireText.text(uuid.attOctets) == vector.octets128OnAirLsbFirst, comment)
            }
        }
        #expect(valid.count >= 6)
        print("UUID vectors: \(valid.count) valid")
    }

    @Test func `UUIDs are equal across their forms`() throws {
        let equal = try load().equal
        for vector in equal {
            let left = try #require(BluetoothUUID(vector.a))
            let right = try #require(BluetoothUUID(vector.b))
            #expect((left == right) == vector.equal, "\(vector.a) and \(vector.b)")
        }
        #expect(equal.count >= 6)
        print("UUID vectors: \(equal.count) equal")
    }

    @Test func `UUIDs on the base have a short form`() throws {
        let compress = try load().compress
        for vector in compress {
            let short = try #require(BluetoothUUID(vector.text)).short
            #expect(short.map { WireText.text([UInt8($0 >> 8), UInt8($0 & 0xFF)]) } == vector.compressesTo)
        }
        #expect(compress.count >= 4)
        print("UUID vectors: \(compress.count) compressed")
    }

    @Test func `malformed text is refused`() throws {
        let malformed = try load().malformed
        for text in malformed { #expect(BluetoothUUID(text) == nil, "\(text)") }
        #expect(malformed.count >= 15)
        print("UUID vectors: \(malformed.count) malformed")
    }
}
