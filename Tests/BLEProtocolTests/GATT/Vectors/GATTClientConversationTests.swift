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
}
