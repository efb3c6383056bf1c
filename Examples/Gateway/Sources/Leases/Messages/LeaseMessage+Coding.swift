/// The words of the payloads. See LEASES.md, "Messages".
private enum Key: String, CodingKey {
    case kind, epoch, gateway, session, sequence, after, to, owner
    case strength = "rssi"
}

private enum Kind: String, Codable { case claim, release, bid, note }

extension LeaseMessage: Codable {
    /// Reads a payload.
    ///
    /// - Throws: what the decoder throws, if a key is missing or its value has another form.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        switch try values.decode(Kind.self, forKey: .kind) {
        case .claim: self = .record(try LeaseRecord(values, state: .held))
        case .release:
            let next = try values.decodeIfPresent(String.self, forKey: .to)
            let state = LeaseRecord.State.released(to: try next.map { try GatewayID(hex: $0, values, .to) })
            self = .record(try LeaseRecord(values, state: state))
        case .bid:
            let owner = try GatewayID(hex: values.decode(String.self, forKey: .owner), values, .owner)
            let bid = LeaseBid(
                epoch: Epoch(number: try values.decode(UInt64.self, forKey: .epoch), gateway: owner),
                gateway: try GatewayID(hex: values.decode(String.self, forKey: .gateway), values, .gateway),
                strength: try values.strength()
            )
            self = .bid(bid)
        case .note: self = .note(try values.ownEpoch())
        }
    }

    /// Writes a payload.
    ///
    /// - Throws: what the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        switch self {
        case .record(let record): try record.encode(into: &values)
        case .bid(let bid):
            try values.encode(Kind.bid, forKey: .kind)
            try values.encode(bid.epoch.number, forKey: .epoch)
            try values.encode(bid.epoch.gateway.description, forKey: .owner)
            try values.encode(bid.gateway.description, forKey: .gateway)
            try values.encode(bid.strength, forKey: .strength)
        case .note(let epoch):
            try values.encode(Kind.note, forKey: .kind)
            try values.encode(epoch.number, forKey: .epoch)
            try values.encode(epoch.gateway.description, forKey: .gateway)
        }
    }
}

extension LeaseRecord {
    fileprivate init(_ values: KeyedDecodingContainer<Key>, state: State) throws {
        self.init(
            epoch: try values.ownEpoch(),
            mark: try Mark(values),
            after: values.contains(.after) ? try Mark(values.nestedContainer(keyedBy: Key.self, forKey: .after)) : nil,
            strength: try values.strength(),
            state: state
        )
    }

    fileprivate func encode(into values: inout KeyedEncodingContainer<Key>) throws {
        try values.encode(isReleased ? Kind.release : .claim, forKey: .kind)
        try values.encode(epoch.number, forKey: .epoch)
        try values.encode(epoch.gateway.description, forKey: .gateway)
        try mark.encode(into: &values)
        try values.encode(strength, forKey: .strength)
        if let after {
            var nested = values.nestedContainer(keyedBy: Key.self, forKey: .after)
            try after.encode(into: &nested)
        }
        if case .released(let next?) = state { try values.encode(next.description, forKey: .to) }
    }
}

extension Mark {
    fileprivate init(_ values: KeyedDecodingContainer<Key>) throws {
        let text = try values.decode(String.self, forKey: .session)
        guard text.utf8.count == 16, let bits = UInt64(text, radix: 16) else {
            throw DecodingError.dataCorruptedError(
                forKey: .session,
                in: values,
                debugDescription: "a session has 16 hexadecimal digits"
            )
        }
        self.init(session: SessionID(rawValue: bits), sequence: try values.decode(UInt32.self, forKey: .sequence))
    }

    fileprivate func encode(into values: inout KeyedEncodingContainer<Key>) throws {
        try values.encode(session.description, forKey: .session)
        try values.encode(sequence, forKey: .sequence)
    }
}

extension GatewayID {
    fileprivate init(hex text: String, _ values: KeyedDecodingContainer<Key>, _ key: Key) throws {
        guard text.utf8.count == 12, let bits = UInt64(text, radix: 16) else {
            throw DecodingError.dataCorruptedError(
                forKey: key,
                in: values,
                debugDescription: "a gateway has 12 hexadecimal digits"
            )
        }
        self.init(rawValue: bits)
    }
}

extension KeyedDecodingContainer<Key> {
    fileprivate func ownEpoch() throws -> Epoch {
        Epoch(
            number: try decode(UInt64.self, forKey: .epoch),
            gateway: try GatewayID(hex: decode(String.self, forKey: .gateway), self, .gateway)
        )
    }

    /// What no receiver reports is brought to the nearest value that one does.
    fileprivate func strength() throws -> Int { min(max(try decode(Int.self, forKey: .strength), -128), 20) }
}
