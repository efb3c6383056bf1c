import Testing

@testable import BLEProtocol

/// Replays what another implementation's client was recorded to ask, and how it took the answers.
@Suite struct GATTClientConversationTests {
    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `every recorded conversation of a client is had octet by octet`() throws {
        let vectors = try VectorFile.load("gatt_vectors.json", as: GATTClientVectors.self)
        var passed = 0
        var departed = 0
        for conversation in vectors.tests where conversation.role == "client" {
            var replayed = GATTClientConversation(conversation, vectors.databases)
            switch try replayed.replay() {
            case .passed:
                passed += 1
                print("passed: \(conversation.name)")
            case .departed(let why):
                departed += 1
                print("passed, with a departure: \(conversation.name): \(why)")
            }
        }
        print("client conversations: \(passed) passed, \(departed) with a stated departure")
        #expect(passed == 98)
        #expect(departed == 1)
    }

    /// Only by its opcode is an error for a range matched: these say so. No conversation has an error for another
    /// handle than a request names that names one, and none has a response with a foreign opcode, so ignoring both
    /// departs from none of them.
    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `errors for another handle than was asked for come in recorded conversations to ranges only`() throws {
        let vectors = try VectorFile.load("gatt_vectors.json", as: GATTClientVectors.self)
        var names: Set<String> = []
        for conversation in vectors.tests where conversation.role == "client" {
            var request: [UInt8] = []
            for step in conversation.steps {
                guard let octets = step.hex.map({ pdu($0) }), let opcode = octets.first else { continue }
                if step.dir != "rx" {
                    request = octets
                } else if ATTOpcode(rawValue: opcode).kind == .response, opcode != 0x01 {
                    #expect(opcode == (request.first ?? 0) + 1, "\(conversation.name)")
                } else if opcode == 0x01, octets[2...3] != request[1...2] {
                    #expect(request.first == 0x08, "\(conversation.name)")
                    names.insert(conversation.name)
                }
            }
        }
        #expect(
            names.map { $0.replacing("/TP/", with: "") }.sorted() == [
                "GAD/CL/BV-04-C", "GAD/CL/BV-05-C", "GAR/CL/BI-06-C", "GAR/CL/BI-07-C", "GAR/CL/BI-09-C",
                "GAR/CL/BI-10-C", "GAR/CL/BI-11-C",
            ]
        )
    }
}
