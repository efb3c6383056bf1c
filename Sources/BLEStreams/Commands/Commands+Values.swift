public import BLEProtocol

extension CommandBlock where Output == CharacteristicValue {
    /// Reads a characteristic. See ``Link/read(_:in:timeout:)-(BluetoothUUID,_,_)``.
    public static func read(_ uuid: BluetoothUUID, in service: BluetoothUUID? = nil) -> CommandBlock {
        CommandBlock("read \(uuid)") { try await $0.link.read(uuid, in: service) }
    }

    /// Writes a request and waits for its answer. See ``Link/request(_:to:answeredOn:timeout:where:)``.
    public static func request(
        _ request: [UInt8],
        to uuid: BluetoothUUID,
        answeredOn answer: BluetoothUUID,
        timeout: Duration = .seconds(30),
        where isWanted: @escaping @Sendable (CharacteristicValue) -> Bool = { _ in true }
    ) -> CommandBlock {
        CommandBlock("request \(uuid)") {
            try await $0.link.request(request, to: uuid, answeredOn: answer, timeout: timeout, where: isWanted)
        }
    }

    /// Waits until a characteristic has a value that meets the condition; it is read first, and must notify or indicate.
    ///
    /// - Returns: that value. Put ``Command/timeout(_:)`` behind it: a device may never say so.
    public static func wait(
        for uuid: BluetoothUUID,
        until isMet: @escaping @Sendable (CharacteristicValue) -> Bool
    ) -> CommandBlock {
        CommandBlock("wait for \(uuid)") { try await $0.link.values(of: uuid).first(where: isMet) }
    }
}

extension CommandBlock {
    /// Reads a characteristic whose value has a type.
    public static func read(_ characteristic: TypedCharacteristic<Output>) -> CommandBlock {
        CommandBlock("read \(characteristic.uuid)") { try await $0.link.read(characteristic) }
    }
}

extension CommandBlock where Output == Void {
    /// Writes a characteristic. See ``Link/write(_:to:in:_:timeout:)``.
    public static func write(
        _ value: [UInt8],
        to uuid: BluetoothUUID,
        in service: BluetoothUUID? = nil,
        _ kind: WriteKind = .withResponse
    ) -> CommandBlock {
        CommandBlock("write \(uuid)") { try await $0.link.write(value, to: uuid, in: service, kind) }
    }
}

extension CommandBlock where Output == [CharacteristicValue] {
    /// Subscribes to a characteristic, takes so many values, and takes the subscription back.
    public static func subscribe(to uuid: BluetoothUUID, taking count: Int) -> CommandBlock {
        CommandBlock("subscribe \(uuid)") { try await $0.link.notifications(of: uuid).collect(count) }
    }
}

extension CommandBlock where Output == [UInt8] {
    /// Takes one message that comes in chunks. See ``BLEStream/assembled(until:maximumSize:)``.
    public static func transfer(
        from uuid: BluetoothUUID,
        until mark: EndMark = .endOfMessage(),
        maximumSize: Int = 1 << 20
    ) -> CommandBlock {
        CommandBlock("transfer \(uuid)") { context in
            try await context.link.notifications(of: uuid).assembled(until: mark, maximumSize: maximumSize).first()
        }
    }
}
