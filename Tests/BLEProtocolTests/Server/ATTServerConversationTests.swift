import BLEProtocol
import Testing

/// Replays what another implementation's server was recorded to answer.
@Suite struct ATTServerConversationTests {
    /// Where our answer differs on purpose: what is sent instead of the last answer, and why.
    private static let departures: [String: (last: String, why: String)] = [
        "/TP/GAW/SR/BV-08-C/small": (
            "011204000d", "writes 3 octets to what is a Client Characteristic Configuration here, which has 2"
        ),
        "/TP/GAW/SR/BV-09-C/small": (
            "011804000d", "writes 19 octets to what is a Client Characteristic Configuration here, which has 2"
        ),
        "/robustness/no-reliable-characteristic": (
            "19", "a refusal that is one implementation's policy; the specification lets the writes through"
        ),
    ]

    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `every recorded conversation is answered octet by octet`() throws {
        let vectors = try VectorFile.load("gatt_vectors.json", as: GATTServerConversations.self)
        var counts = (passed: 0, departed: 0)
        for conversation in vectors.tests where conversation.role == "server" {
            let name = try #require(conversation.database)
            let lines = try #require(vectors.databases[name])
            var expected = conversation.steps
            let departure = Self.departures[conversation.name]
            if let departure, let last = expected.indices.last {
                expected[last].hex = departure.last
                counts.departed += 1
                print("server, departs: \(conversation.name): \(departure.why)")
            } else {
                counts.passed += 1
                print("server: \(conversation.name)")
            }
            if conversation.action?.kind == "compute_database_hash" {
                let hash = try #require(lines.databaseHash).specOnAirLsbFirst
                #expect(WireText.text(AttributeDatabase(lines).computedHash()) == hash, "\(conversation.name)")
                continue
            }
            try replay(expected, conversation, AttributeDatabase(lines))
        }
        print("server conversations: \(counts.passed) as recorded, \(counts.departed) with a stated departure")
        #expect(counts.passed + counts.departed == 94)
    }

    private func replay(
        _ steps: [GATTServerConversations.Step],
        _ conversation: GATTServerConversations.Conversation,
        _ database: AttributeDatabase
    ) throws {
        var client = ServedClient(database, maximumMTU: conversation.localMtu ?? 517)
        // It asked for encryption as one does who has a key, and didn't ask whether there is one.
        client.security.hasKey = true
        var received: [String] = []
        var indications: [ATTServer.IndicationID] = []
        for step in steps {
            let place: Comment = "\(conversation.name), \(step.dir ?? "") \(step.hex ?? "")"
            switch (step.dir, step.marker) {
            case ("rx", _):
                #expect(received.isEmpty, place)
                received += client.sends(try #require(step.hex))
                indications.removeAll { client.output.confirmed.contains($0) }
            case ("tx", _):
                #expect(received.first == step.hex, place)
                received = Array(received.dropFirst())
            case (_, "expect_no_reply"):
                #expect(received.isEmpty, place)
            case (_, "run_action"):
                let action = try #require(conversation.action)
                let handle = try #require(action.handle)
                let value = WireText.octets(try #require(action.value))
                if action.kind == "server_send_notification" {
                    try client.server.notify(handle, value, database: client.database)
                } else {
                    #expect(action.kind == "server_send_indication", place)
                    indications.append(try client.server.indicate(handle, value, database: client.database))
                }
                received += client.receives()
            default: Issue.record(place)
            }
        }
        #expect(received.isEmpty, "\(conversation.name): more was sent")
        #expect(indications.isEmpty, "\(conversation.name): an indication was not confirmed")
    }
}
