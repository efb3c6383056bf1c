public import BLEProtocol

extension LocalCharacteristic {
    /// Describes a characteristic whose value is computed when a central reads it.
    ///
    /// ```swift
    /// let uptime = ContinuousClock.now
    /// LocalCharacteristic(BluetoothUUID(0xF00A), [.read]) { central in
    ///     let seconds = UInt32(uptime.duration(to: .now).components.seconds)
    ///     return (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (8 * $0)) }
    /// }
    /// ```
    ///
    /// The closures are called for as long as the peripheral runs, in child tasks of that: for one central one after the
    /// other, in the order in which it asked, for several side by side. One that takes longer than 20 s is cancelled, and the
    /// central is refused; a central that leaves cancels what it had asked for. ``LocalPeripheral/Warning`` is told of both a
    /// closure that is too slow and one that throws anything else than an `ATTError`, which the central sees as Unlikely
    /// Error.
    ///
    /// A value that is longer than one PDU is computed once: the central gets the rest of it from the same one, unless
    /// it waits for more than 30 s, or writes it in between.
    ///
    /// - Parameters:
    ///   - uuid: what the characteristic is.
    ///   - properties: what clients are told that it can do.
    ///   - access: what a client must bring for all that the properties promise.
    ///   - maximumLength: the longest value in octets, 0 to 512.
    ///   - id: the name by which the program refers to it; where left out, the UUID's text.
    ///   - read: computes the whole value, 0 to `maximumLength` octets, for the central that asks, or throws the `ATTError`
    ///     that it gets.
    ///   - write: takes what a central writes, or throws the `ATTError` that the central gets, which one that wants no answer
    ///     does not. Where a central writes a part in the middle, `read` is asked for the rest, and this takes the whole.
    ///     Without it, ``PeripheralServer/writes(to:)`` asks the program.
    ///   - descriptors: descriptors beside those that are added by themselves.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        access: AccessRequirement = .open,
        maximumLength: Int = 512,
        id: String? = nil,
        read: @escaping @Sendable (ConnectedCentral) async throws -> [UInt8],
        write: (@Sendable ([UInt8], ConnectedCentral) async throws -> Void)? = nil,
        @AttributeListBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
    ) {
        self.init(
            uuid,
            properties,
            value: .dynamic,
            access: access,
            maximumLength: maximumLength,
            id: id,
            descriptors: descriptors
        )
        closures = ValueClosures(read: read, write: write)
    }

    /// Describes a characteristic whose value the server keeps, and the program judges before it changes.
    ///
    /// ```swift
    /// LocalCharacteristic(.mode, [.read, .write], value: .stored([0])) { value, central in
    ///     guard value.count == 1, value[0] < 3 else { throw ATTError.outOfRange }
    /// }
    /// ```
    ///
    /// The closure is called as ``init(_:_:access:maximumLength:id:read:write:descriptors:)`` has it. When it returns the
    /// value is stored, and then the central is answered; ``PeripheralServer/writes(to:)`` tells of it. When it throws, the
    /// value stays what it was.
    ///
    /// - Parameters:
    ///   - uuid: what the characteristic is.
    ///   - properties: what clients are told that it can do.
    ///   - value: its value to begin with; with `.dynamic` reads go to ``PeripheralServer/reads(of:)``, and nothing is stored.
    ///   - access: what a client must bring for all that the properties promise.
    ///   - maximumLength: the longest value in octets, 0 to 512; a longer write is refused without the closure.
    ///   - hasFixedLength: whether the value always has `maximumLength` octets.
    ///   - id: the name by which the program refers to it; where left out, the UUID's text.
    ///   - write: is given the whole value as it would be, also after a long write or one of a part, and the central; throws
    ///     the `ATTError` that the central gets.
    ///   - descriptors: descriptors beside those that are added by themselves.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: CharacteristicProperties,
        value: LocalValue = .stored([]),
        access: AccessRequirement = .open,
        maximumLength: Int = 512,
        hasFixedLength: Bool = false,
        id: String? = nil,
        write: @escaping @Sendable ([UInt8], ConnectedCentral) async throws -> Void,
        @AttributeListBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
    ) {
        self.init(
            uuid,
            properties,
            value: value,
            access: access,
            maximumLength: maximumLength,
            hasFixedLength: hasFixedLength,
            id: id,
            descriptors: descriptors
        )
        closures = ValueClosures(read: nil, write: write)
    }
}

/// What a program answers with.
struct ValueClosures: Sendable {
    let read: (@Sendable (ConnectedCentral) async throws -> [UInt8])?
    let write: (@Sendable ([UInt8], ConnectedCentral) async throws -> Void)?
}

extension LocalCharacteristic {
    /// The closures that were given with it.
    var closures: ValueClosures? {
        get { answers?.closures as? ValueClosures }
        set {
            answers = newValue.map { closures in
                LocalAnswers(
                    computesValue: closures.read != nil,
                    judgesWrites: closures.write != nil,
                    closures: closures
                )
            }
        }
    }
}

extension [LocalService] {
    /// The closures of all characteristics, by their names.
    var closures: [String: ValueClosures] {
        var closures: [String: ValueClosures] = [:]
        for characteristic in lazy.flatMap(\.characteristics) { closures[characteristic.id] = characteristic.closures }
        return closures
    }
}
