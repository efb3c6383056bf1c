extension CommandBlock {
    /// Reads a characteristic. See ``CharacteristicAccess/read(_:timeout:)``.
    public static func read<Key: CharacteristicKey>(_ key: Key) -> CommandBlock where Key.Value == Output {
        CommandBlock("read \(key.reference)") { try await $0.read(key) }
    }

    /// Writes a request and waits for its answer. See ``CharacteristicAccess/request(_:to:answeredOn:timeout:where:)``.
    public static func request<Answer: CharacteristicKey>(
        _ request: [UInt8],
        to key: some CharacteristicKey,
        answeredOn answer: Answer,
        timeout: Duration = .seconds(30),
        where isWanted: @escaping @Sendable (Output) -> Bool = { _ in true }
    ) -> CommandBlock where Answer.Value == Output {
        CommandBlock("request \(key.reference)") {
            try await $0.request(request, to: key, answeredOn: answer, timeout: timeout, where: isWanted)
        }
    }

    /// Waits until a characteristic has a value that meets the condition. Reads it first; it must notify or indicate.
    ///
    /// - Returns: that value. Add ``Command/timeout(_:)``: the device may never send such a value.
    public static func wait<Key: CharacteristicKey>(
        for key: Key,
        until isMet: @escaping @Sendable (Output) -> Bool
    ) -> CommandBlock where Key.Value == Output {
        CommandBlock("wait for \(key.reference)") { try await $0.values(of: key).first(where: isMet) }
    }

    /// Subscribes to a characteristic, collects that many values, and unsubscribes.
    public static func subscribe<Key: CharacteristicKey>(to key: Key, taking count: Int) -> CommandBlock
    where Output == [Key.Value] {
        CommandBlock("subscribe \(key.reference)") { try await $0.notifications(of: key).collect(count) }
    }
}

extension CommandBlock where Output == Void {
    /// Writes octets to a characteristic. See
    /// ``CharacteristicAccess/write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)``.
    public static func write(
        _ octets: [UInt8],
        to key: some CharacteristicKey,
        _ kind: Link.WriteKind = .withResponse
    ) -> CommandBlock {
        CommandBlock("write \(key.reference)") { try await $0.write(octets, to: key.reference, kind) }
    }

    /// Writes a value to a characteristic whose value has that type.
    public static func write<Key: CharacteristicKey>(
        _ value: Key.Value,
        to key: Key,
        _ kind: Link.WriteKind = .withResponse
    ) -> CommandBlock {
        CommandBlock("write \(key.reference)") { try await $0.write(value, to: key, kind) }
    }
}

extension CommandBlock where Output == [UInt8] {
    /// Receives one message that comes in chunks. See ``BLEStream/assembled(until:maximumSize:)``.
    public static func transfer(
        from key: some CharacteristicKey,
        until mark: EndMark = .endOfMessage(),
        maximumSize: Int = 1 << 20
    ) -> CommandBlock {
        CommandBlock("transfer \(key.reference)") { context in
            try await context.notifications(of: key.reference).assembled(until: mark, maximumSize: maximumSize).first()
        }
    }
}
