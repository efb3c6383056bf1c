import Testing

@testable import BLEProtocol

/// A recorded conversation of a client, replayed with our procedures.
struct GATTClientConversation {
    enum Outcome: Equatable {
        case passed
        /// Passed with PDUs of ours in between, for this reason.
        case departed(String)
    }

    let conversation: GATTClientVectors.Conversation
    let databases: [String: GATTClientVectors.Database]

    private var bearer: Bearer
    private var pending: [GATTClientVectors.Step] = []
    /// How often a failure for lack of security may still be answered by beginning the procedure again.
    private var retries: Int
    /// Why more is sent than was recorded, where it is.
    private var departure: String?

    init(_ conversation: GATTClientVectors.Conversation, _ databases: [String: GATTClientVectors.Database]) {
        self.conversation = conversation
        self.databases = databases
        bearer = Bearer(maximumMTU: conversation.localMtu ?? 517)
        retries = conversation.autoSecurity == true ? 1 : 0
    }

    private var place: Comment { "\(conversation.name)" }

    mutating func replay() throws -> Outcome {
        let action = try #require(conversation.action, place)
        try exchangeMTU()
        let expected = conversation.expect
        switch action.kind {
        case "start": break
        case "discover_all": try discoverAll()
        case "read", "read_long":
            let value = try run(ReadValue(handle: try #require(action.handle)))
            #expect(value == expected?.value.map { pdu($0) }, place)
        case "read_by_uuid":
            let values = try run(ReadByUUID(try uuid(action), in: try range(action)))
            let wanted = expected?.values?.map { ReadByUUID.Value(handle: $0.handle ?? 0, value: pdu($0.value ?? "")) }
            #expect(values == wanted, place)
        case "read_multiple":
            let value = try run(ReadMultiple(handles: try #require(action.handles)))
            #expect(value == expected?.value.map { pdu($0) }, place)
        case "write":
            let value = pdu(try #require(action.value))
            _ = try run(WriteValue(handle: try #require(action.handle), value: value))
        case "write_long", "reliable_write":
            let isVerified = action.kind == "reliable_write"
            let value = pdu(try #require(action.value))
            _ = try run(LongWrite(handle: try #require(action.handle), value: value, isVerified: isVerified))
        case "signed_write", "signed_write_on_encrypted_link":
            let write = SignedWrite(
                handle: try #require(action.handle),
                value: pdu(try #require(action.value)),
                key: try #require(SigningKey(octets: pdu(action.csrk ?? ""))),
                counter: try #require(action.signCounter),
                isLinkEncrypted: action.kind == "signed_write_on_encrypted_link"
            )
            _ = try run(write)
        case "write_without_response":
            let value = pdu(try #require(action.value))
            _ = try run(WriteCommand(handle: try #require(action.handle), value: value))
        case "subscribe_notify": try subscribe(try #require(action.handle), 1)
        case "subscribe_indicate": try subscribe(try #require(action.handle), 2)
        default: try discover(action)
        }
        bearer.expectSends()
        bearer.expectNotes(0)
        return departure.map { .departed($0) } ?? .passed
    }
}

// MARK: - Actions

extension GATTClientConversation {
    private mutating func discover(_ action: GATTClientVectors.Action) throws {
        let expected = conversation.expect
        switch action.kind {
        case "discover_primary_services":
            let services = try run(DiscoverServices(in: try range(action)))
            #expect(services == expected?.services.map(Self.services), place)
        case "discover_primary_services_by_uuid":
            let uuid = try uuid(action)
            // The recorded client asked for the long form of a UUID that has a short one.
            let isLongForm = action.uuid?.count == 36
            let services = try run(DiscoverServicesByUUID(uuid, in: try range(action), isLongForm: isLongForm))
            #expect(services == expected?.services.map(Self.services), place)
        case "discover_included_services":
            let included = try run(DiscoverIncludedServices(in: try range(action)))
            let wanted = expected?.included?.map {
                GATTService.Inclusion(
                    uuid: Self.uuid($0.uuid),
                    handle: $0.handle ?? 0,
                    startHandle: $0.start ?? 0,
                    endHandle: $0.end ?? 0
                )
            }
            #expect(included == wanted, place)
        case "discover_characteristics":
            let found = try run(DiscoverCharacteristics(in: try range(action)))
            #expect(found?.map(\.handle) == expected?.characteristics?.map(\.handle), place)
            #expect(found?.map(\.valueHandle) == expected?.characteristics?.map(\.valueHandle), place)
            #expect(found?.map(\.uuid) == expected?.characteristics?.map { Self.uuid($0.uuid) }, place)
            #expect(found?.allSatisfy { $0.properties == .read } == true, place)
        case "discover_descriptors":
            let found = try run(DiscoverDescriptors(in: [try range(action)]))
            let wanted = expected?.descriptors?.map { Descriptor(uuid: Self.uuid($0.uuid), handle: $0.handle ?? 0) }
            #expect(found == wanted, place)
        default:
            Issue.record("\(conversation.name): unknown action \(action.kind)")
        }
    }

    private mutating func exchangeMTU() throws {
        pending = conversation.steps(of: "mtu")
        let isAnswered = pending.count == 2
        let id = bearer.begin(ExchangeMTU())
        converse()
        if isAnswered { bearer.expectFinished(.success(id, conversation.localMtu ?? 0)) }
        pending = conversation.steps(of: "server_features")
        guard !pending.isEmpty else { return }
        let features = bearer.begin(ReadByUUID(BluetoothUUID.Characteristics.serverSupportedFeatures, limit: 1))
        converse()
        bearer.expectFinished(.failure(features, .attribute(.attributeNotFound, handle: 1)))
    }

    /// The recorded client asks in another order than ours. Its answers prove the database that answers ours.
    private mutating func discoverAll() throws {
        let database = try database()
        var answering = database.answering
        answering.mtu = conversation.localMtu ?? 23
        let recorded = conversation.steps(of: "discovery").compactMap(\.hex)
        for index in stride(from: 0, to: recorded.count - 1, by: 2) {
            // A server may end a list early; ours doesn't. What the recorded one said must be a part of it.
            let answer = hex(answering.answer(pdu(recorded[index])))
            #expect(answer.hasPrefix(recorded[index + 1]), "\(conversation.name): \(recorded[index])")
        }
        #expect(answering.run(DiscoverDatabase()) == .success(database.tree), place)
    }

    private mutating func subscribe(_ valueHandle: UInt16, _ configuration: UInt8) throws {
        let tree = try database().tree
        let descriptor = try #require(tree.characteristic(valueHandle: valueHandle)?.clientConfiguration, place)
        _ = try run(WriteValue(handle: descriptor.handle, value: [configuration, 0]))
        let own = bearer.takeValues().filter { $0.handle == valueHandle }
        #expect(own.map { hex($0.value) } == (conversation.expect?.received?.value).map { [$0] } ?? [], place)
    }

    private func database() throws -> GATTClientVectors.Database {
        let name = try #require(conversation.database, place)
        return try #require(databases[name], place)
    }

    private static func services(_ found: [GATTClientVectors.Expectation.Found]) -> [GATTService] {
        found.map { GATTService(uuid: uuid($0.uuid), handle: $0.start ?? 0, endHandle: $0.end ?? 0) }
    }

    private static func uuid(_ text: String?) -> BluetoothUUID {
        text.flatMap { BluetoothUUID($0) } ?? BluetoothUUID(0)
    }

    private func uuid(_ action: GATTClientVectors.Action) throws -> BluetoothUUID {
        try #require(action.uuid.flatMap { BluetoothUUID($0) }, place)
    }

    private func range(_ action: GATTClientVectors.Action) throws -> ClosedRange<UInt16> {
        let start = try #require(action.start, place)
        return start...(try #require(action.end, place))
    }
}

// MARK: - Running

extension GATTClientConversation {
    /// Runs the procedure along the recorded steps, and compares its error; the success is left to the caller.
    private mutating func run<P: GATTProcedure>(_ procedure: P) throws -> P.Success? {
        pending = conversation.steps(of: "test")
        while true {
            let id = bearer.begin(procedure)
            converse()
            let finished = try #require(bearer.finished.last, place)
            #expect(finished.id == id, place)
            bearer.forgetFinished()
            switch finished.result {
            case .success(let value):
                #expect(conversation.expect?.error == nil && pending.isEmpty, place)
                let success: P.Success = try #require(value.value(), place)
                return success
            case .failure(.attribute(let error, _)) where retries > 0 && Self.isSecurity(error):
                // What the layer above does when it has raised the security of the link.
                retries -= 1
            case .failure(.attribute(let error, _)):
                #expect(error.rawValue == conversation.expect?.error && pending.isEmpty, place)
                return nil
            case .failure(let failure):
                Issue.record("\(conversation.name): \(failure)")
                return nil
            }
        }
    }

    /// Goes on in the recorded steps as long as both sides have something to say.
    private mutating func converse() {
        while let step = pending.first, let text = step.hex {
            if step.dir == "rx" {
                bearer.receive(text)
            } else {
                guard let next = bearer.client.nextPDU() else { return }
                if hex(next) == "1800", text != "1800", retries > 0 {
                    departure = "a refused part is taken back by Execute Write before the procedure is begun again"
                    bearer.sent()
                    bearer.receive("19")
                    return
                }
                #expect(hex(next) == text, place)
                bearer.sent()
            }
            pending.removeFirst()
        }
    }

    private static func isSecurity(_ error: ATTError) -> Bool {
        error == .insufficientAuthentication || error == .insufficientEncryption
    }
}
