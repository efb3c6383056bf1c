import BLEProtocol
import Testing

/// Replays what another implementation's client was recorded to ask, and checks what ours makes of the answers.
///
/// How a client starts, MTU, features and discovery, is its own affair: of that part the exchange of the MTU is replayed,
/// and discovery is run against a server with the recorded database.
@Suite struct GATTClientConversationTests {
    /// Where we ask differently on purpose: PDUs that come in between, and why.
    private static let departures: [String: (after: String, then: [(dir: String, hex: String)], why: String)] = [
        "/TP/GAW/CL/BI-18-C/auto": (
            "0116070005", [("tx", "1800"), ("rx", "19")],
            "a refused reliable write is first taken back, as in every other case, then begun anew"
        )
    ]

    @Test(.enabled(if: VectorFile.arePresent, VectorFile.why))
    func `every recorded conversation is held octet by octet`() throws {
        let vectors = try VectorFile.load("gatt_vectors.json", as: GATTClientConversations.self)
        var counts = (passed: 0, repeated: 0, departed: 0)
        for conversation in vectors.tests where conversation.role == "client" {
            let lines = conversation.database.flatMap { vectors.databases[$0] }
            if let departure = Self.departures[conversation.name] {
                counts.departed += 1
                print("client, departs: \(conversation.name): \(departure.why)")
            } else if conversation.name.hasSuffix("/auto") {
                counts.repeated += 1
                print("client: \(conversation.name): the test raises the security and begins the procedure again")
            } else {
                counts.passed += 1
                print("client: \(conversation.name)")
            }
            switch conversation.action?.kind {
            case "start": try replayStart(conversation)
            case "discover_all": try discover(conversation, AttributeDatabase(try #require(lines)))
            default: try replay(conversation, lines.map { AttributeDatabase($0) })
            }
        }
        print(
            "client conversations: \(counts.passed) as recorded, \(counts.repeated) with the procedure begun again by the"
                + " test, \(counts.departed) with a stated departure"
        )
        #expect(counts.passed + counts.repeated + counts.departed == 99)
    }

    // MARK: - The three kinds of cases

    private func replayStart(_ conversation: GATTClientConversations.Conversation) throws {
        var bearer = Bearer(maximumMTU: conversation.localMtu ?? 517)
        _ = bearer.begin(ExchangeMTU())
        #expect(bearer.send() == conversation.phase("mtu").compactMap(\.hex))
    }

    /// What is discovered is what the database declares.
    private func discover(
        _ conversation: GATTClientConversations.Conversation,
        _ database: AttributeDatabase
    ) throws {
        var bearer = Bearer(mtu: conversation.localMtu ?? 517)
        var server = ServedClient(database)
        server.exchangesMTU(512)
        let id = bearer.begin(DiscoverDatabase())
        for _ in 0..<200 {
            let sent = bearer.send()
            if sent.isEmpty { break }
            for pdu in sent.flatMap({ server.sends($0) }) { bearer.receive(pdu) }
        }
        let found = try #require(bearer.takeFinished().first { $0.id == id })
        let result = try found.result.get()
        let tree = try #require(result as? GATTDatabase, "\(conversation.name)")
        let characteristics = tree.services.flatMap(\.characteristics)
        let declared = database.attributes.filter { $0.type == AttributeType.characteristic }.map(\.handle)
        #expect(characteristics.map(\.handle).sorted() == declared, "\(conversation.name)")
        let descriptors = characteristics.flatMap(\.descriptors).map(\.handle)
        let others = database.attributes.filter { attribute in
            !AttributeType.isDeclaration(attribute.type)
                && !characteristics.contains { $0.valueHandle == attribute.handle }
        }
        #expect(descriptors.sorted() == others.map(\.handle), "\(conversation.name)")
        let services = database.attributes.filter { $0.type == AttributeType.primaryService }.map(\.handle)
        #expect(tree.services.filter(\.isPrimary).map(\.handle) == services, "\(conversation.name)")
    }

    private func replay(
        _ conversation: GATTClientConversations.Conversation,
        _ database: AttributeDatabase?
    ) throws {
        var bearer = Bearer(maximumMTU: conversation.localMtu ?? 517)
        try exchangeMTU(conversation, &bearer)
        let action = try #require(conversation.action)
        var steps = conversation.test.filter { $0.marker != "run_action" }
        if let departure = Self.departures[conversation.name],
            let index = steps.firstIndex(where: { $0.hex == departure.after })
        {
            steps.insert(
                contentsOf: departure.then.map { .init(dir: $0.dir, phase: "test", hex: $0.hex, marker: nil) },
                at: index + 1
            )
        }
        try begin(action, database, &bearer)
        var sent = bearer.send()
        var finished: [Bearer.Finished] = []
        var values: [GATTClient.ReceivedValue] = []
        for step in steps {
            let place: Comment = "\(conversation.name), \(step.dir ?? "") \(step.hex ?? "")"
            switch (step.dir, step.marker) {
            case ("tx", _):
                if sent.isEmpty, conversation.name.hasSuffix("/auto") {
                    // The layer above raises the security of the link and begins anew.
                    finished = []
                    try begin(action, database, &bearer)
                    sent = bearer.send()
                }
                #expect(sent.first == step.hex, place)
                sent = Array(sent.dropFirst())
            case ("rx", _):
                #expect(sent.isEmpty, place)
                bearer.receive(try #require(step.hex))
                finished += bearer.takeFinished()
                values += bearer.takeValues()
                sent += bearer.send()
            case (_, "expect_no_reply"): #expect(sent.isEmpty, place)
            default: Issue.record(place)
            }
        }
        finished += bearer.takeFinished()
        #expect(sent.isEmpty, "\(conversation.name): more was sent")
        let lines = finished.map { GATTClientConversations.Expectation.lines(of: $0.result) }
        #expect(lines == [conversation.expect?.lines ?? []], "\(conversation.name)")
        let wanted = conversation.expect?.received
        let delivered = values.filter { $0.handle == action.handle }
        #expect(delivered.map { WireText.text($0.value) } == (wanted.map { [$0.value] } ?? []), "\(conversation.name)")
    }

    // MARK: - Steps

    private func exchangeMTU(
        _ conversation: GATTClientConversations.Conversation,
        _ bearer: inout Bearer
    ) throws {
        let exchange = conversation.phase("mtu").compactMap(\.hex)
        guard exchange.count == 2 else {
            // Cases without a start of their own begin with the MTU agreed on.
            bearer.client.setMTU(conversation.localMtu ?? 517)
            return
        }
        _ = bearer.begin(ExchangeMTU())
        bearer.expect(exchange[0], answeredWith: exchange[1])
        #expect(bearer.takeFinished().count == 1, "\(conversation.name)")
    }

    private func begin(
        _ action: GATTClientConversations.Action,
        _ database: AttributeDatabase?,
        _ bearer: inout Bearer
    ) throws {
        let range = (action.start ?? 1)...(action.end ?? 0xFFFF)
        let value = action.value.map { WireText.octets($0) } ?? []
        let handle = action.handle ?? 0
        let uuid = action.uuid.flatMap { BluetoothUUID($0) }
        let isLong = (action.uuid?.count ?? 0) > 8
        switch action.kind {
        case "discover_primary_services": _ = bearer.begin(DiscoverServices(in: range))
        case "discover_primary_services_by_uuid":
            _ = bearer.begin(DiscoverServicesByUUID(try #require(uuid), in: range, isLongForm: isLong))
        case "discover_included_services": _ = bearer.begin(DiscoverIncludedServices(in: range))
        case "discover_characteristics": _ = bearer.begin(DiscoverCharacteristics(in: range))
        case "discover_descriptors": _ = bearer.begin(DiscoverDescriptors(in: [range]))
        case "read_by_uuid": _ = bearer.begin(ReadByUUID(try #require(uuid), in: range))
        case "read", "read_long": _ = bearer.begin(ReadValue(handle: handle))
        case "read_multiple": _ = bearer.begin(ReadMultiple(handles: action.handles ?? []))
        case "write": _ = bearer.begin(WriteValue(handle: handle, value: value))
        case "write_long": _ = bearer.begin(LongWrite(handle: handle, value: value))
        case "reliable_write": _ = bearer.begin(LongWrite(handle: handle, value: value, isVerified: true))
        case "write_without_response": _ = bearer.begin(WriteCommand(handle: handle, value: value))
        case "signed_write", "signed_write_on_encrypted_link":
            let write = SignedWrite(
                handle: handle,
                value: value,
                key: try #require(SigningKey(octets: WireText.octets(action.csrk ?? ""))),
                counter: try #require(action.signCounter),
                isLinkEncrypted: action.kind != "signed_write"
            )
            _ = bearer.begin(write)
        case "subscribe_notify", "subscribe_indicate":
            let descriptor = try #require(database?.characteristic(at: handle)?.configuration)
            let mode: SetNotification.Mode = action.kind == "subscribe_notify" ? .notify : .indicate
            _ = bearer.begin(SetNotification(handle: descriptor, mode))
        default: Issue.record("an action that is not known: \(action.kind)")
        }
    }
}
