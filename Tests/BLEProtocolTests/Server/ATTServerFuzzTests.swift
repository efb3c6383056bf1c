import BLEProtocol
import Testing

/// No octets of a client's make the server trap, answer what is too long, or keep more than it may.
@Suite struct ATTServerFuzzTests {
    /// SplitMix64: the same numbers for the same seed, everywhere.
    private struct Chance: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var bits = state
            bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
            bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
            return bits ^ (bits >> 31)
        }
    }

    /// One valid PDU of each kind that goes to a server, to be mutated.
    private static let seeds = [
        "02 0502", "04 0100 ffff", "06 0100 ffff 0028 0a18", "08 0100 ffff 0328", "0a 0300", "0a 0a00", "0c 0700 0400",
        "0c 0a00 0400", "0e 0300 0500 0a00", "10 0100 ffff 0028", "12 0700 aabbcc", "12 0a00 aabb", "12 0d00 0300",
        "16 0700 0000 aabb", "16 0a00 0200 aabb", "16 0d00 0000 0300", "18 01", "18 00", "1e", "20 0300 0500 0a00",
        "52 0700 aabb", "52 0a00 aabb", "52 0d00 0300", "d2 0700 aa 000000000000000000000000",
    ].map(WireText.octets)

    private func mutated(_ chance: inout Chance) -> [UInt8] {
        if Int.random(in: 0..<8, using: &chance) == 0 {
            return (0..<Int.random(in: 0...40, using: &chance)).map { _ in .random(in: 0...255, using: &chance) }
        }
        var pdu = Self.seeds.randomElement(using: &chance) ?? []
        for _ in 0..<Int.random(in: 0...3, using: &chance) {
            switch Int.random(in: 0..<5, using: &chance) {
            case 0 where !pdu.isEmpty:
                pdu[.random(in: pdu.indices, using: &chance)] = .random(in: 0...255, using: &chance)
            case 1 where pdu.count > 1:
                // A handle near those that exist.
                pdu[1] = .random(in: 0...22, using: &chance)
            case 2: pdu = Array(pdu.prefix(.random(in: 0...pdu.count, using: &chance)))
            case 3:
                pdu += (0..<Int.random(in: 0...30, using: &chance)).map { _ in .random(in: 0...255, using: &chance) }
            default: pdu += [UInt8](repeating: 0, count: .random(in: 0...600, using: &chance))
            }
        }
        return pdu
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `random and mutated PDUs are survived within bounds`(seed: UInt64) {
        var chance = Chance(state: seed)
        var client = ServedClient.ofSample()
        var asked: [ATTServer.RequestToken] = []
        let limits = ATTServer.Limits()
        var accepted = 0
        for _ in 0..<2000 {
            if client.server.hasEnded {
                client = ServedClient(client.database)
                (asked, accepted) = ([], 0)
            }
            var output: ATTServer.Output
            switch Int.random(in: 0..<10, using: &chance) {
            case 0..<6:
                let isSafe = Bool.random(using: &chance)
                let security = ATTSecurity(isEncrypted: isSafe, isAuthenticated: isSafe, keySize: isSafe ? 16 : 0)
                output = client.server.received(mutated(&chance), security: security, database: &client.database)
            case 6:
                let token = asked.randomElement(using: &chance)
                let value = [UInt8](repeating: 1, count: .random(in: 0...600, using: &chance))
                let answer: Result<[UInt8], ATTError> =
                    Bool.random(using: &chance) ? .success(value) : .failure(.valueNotAllowed)
                output =
                    token.map { client.server.respond(to: $0, with: answer, database: &client.database) } ?? .init()
            case 7:
                output = .init()
                for _ in 0..<Int.random(in: 1...90, using: &chance) {
                    let value = [UInt8](repeating: 2, count: .random(in: 0...600, using: &chance))
                    if (try? client.server.notify(12, value, database: client.database)) != nil { accepted += 1 }
                    _ = try? client.server.indicate(12, value, database: client.database)
                }
            default:
                output = .init()
                if let pdu = client.server.nextPDU() {
                    #expect(pdu.count <= client.server.mtu)
                    #expect(client.server.nextPDU() == pdu)
                    if pdu.first == 0x1B { accepted -= 1 }
                    output = client.server.sent()
                }
            }
            asked += output.reads.map(\.token)
            for case .awaited(let token) in output.writes.map(\.answer) { asked.append(token) }
            asked = asked.suffix(8)
            #expect(accepted <= limits.notifications + 1)
            #expect(client.database.attributes.allSatisfy { (client.database.value(at: $0.handle)?.count ?? 0) <= 512 })
            #expect(client.database.value(at: 5)?.count == 4)
        }
    }

    @Test func `a flood of prepared writes and requests stays within bounds`() {
        var client = ServedClient.ofSample()
        client.exchangesMTU(517)
        let prepare = WireText.octets("16 1400 0000") + [UInt8](repeating: 0xAA, count: 512)
        var answers: [UInt8: Int] = [:]
        for _ in 0..<10_000 {
            let output = client.server.received(prepare, security: .none, database: &client.database)
            #expect(output.close == nil)
            if let answer = client.server.nextPDU()?.first { answers[answer, default: 0] += 1 }
            _ = client.server.sent()
        }
        #expect(answers == [0x17: 8, 0x01: 9_992])
    }
}
