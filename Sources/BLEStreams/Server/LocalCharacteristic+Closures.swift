public import BLEProtocol

extension LocalCharacteristic {
    /// Declares a characteristic whose value is computed when a central reads it.
    ///
    /// ```swift
    /// let uptime = ContinuousClock.now
    /// LocalCharacteristic(BluetoothUUID(0xF00A), [.read]) { central in
    ///     let seconds = UInt32(uptime.duration(to: .now).components.seconds)
    ///     return (0..<4).map { UInt8(truncatingIfNeeded: seconds >> (8 * $0)) }
    /// }
    /// ```
    ///
    /// The closures are called while the peripheral runs, in child tasks of it: for one central one after the other, in
    /// the order of its requests, also from one of its links to the next; for several centrals concurrently. A closure
    /// that takes longer than 20 s is cancelled, and the central is refused; when a central leaves, its pending
    /// requests are cancelled, and its writes without response have 20 s left for all of them.
    /// The `warning` of ``LocalPeripheral/run(on:store:warning:_:)`` reports a closure that is too slow, writes without
    /// response that are lost by that, and a closure that throws anything other than an `ATTError`, which the central
    /// sees as Unlikely Error.
    ///
    /// A value longer than one PDU is computed once: the central reads the rest of the same value, unless it waits for
    /// more than 30 s or writes the value in between.
    ///
    /// - Parameters:
    ///   - uuid: the characteristic's type.
    ///   - properties: the operations that clients may use.
    ///   - access: the protection that the properties require of a client.
    ///   - maximumLength: the longest value in octets, 0 to 512.
    ///   - id: the name by which the program refers to it; by default the UUID's text.
    ///   - read: computes the whole value, 0 to `maximumLength` octets, for the central that reads it, or throws the
    ///     `ATTError` to answer.
    ///   - write: takes the value that a central writes, or throws the `ATTError` to answer, which a write without
    ///     response never gets. If a central writes only a part, `read` supplies the rest, and this closure gets the
    ///     whole value. Without it, the program answers through ``PeripheralServer/writes(to:)``.
    ///   - descriptors: descriptors in addition to those that are added automatically.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: Characteristic.Properties,
        access: AccessRequirement = .open,
        maximumLength: Int = 512,
        id: String? = nil,
        read: @escaping @Sendable (ConnectedCentral) async throws -> [UInt8],
        write: (@Sendable ([UInt8], ConnectedCentral) async throws -> Void)? = nil,
        @ListBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
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

    /// Declares a characteristic whose value the server stores after the program has accepted it.
    ///
    /// ```swift
    /// LocalCharacteristic(.mode, [.read, .write], value: .stored([0])) { value, central in
    ///     guard value.count == 1, value[0] < 3 else { throw ATTError.outOfRange }
    /// }
    /// ```
    ///
    /// The closure is called as described at ``init(_:_:access:maximumLength:id:read:write:descriptors:)``. When it
    /// returns, the value is stored, and then the central is answered;
    /// ``PeripheralServer/writes(to:)`` reports the write. When it throws, the value stays as it was.
    ///
    /// - Parameters:
    ///   - uuid: the characteristic's type.
    ///   - properties: the operations that clients may use.
    ///   - value: its initial value; with `.dynamic`, reads arrive at ``PeripheralServer/reads(of:)``,
    ///     and nothing is stored.
    ///   - access: the protection that the properties require of a client.
    ///   - maximumLength: the longest value in octets, 0 to 512; a longer write is refused without calling the closure.
    ///   - hasFixedLength: whether the value always has `maximumLength` octets.
    ///   - id: the name by which the program refers to it; by default the UUID's text.
    ///   - write: gets the whole value as it would be stored, also after a long or partial write, and the central;
    ///     throws the `ATTError` to answer. If what a partial write leaves of the value changes meanwhile, it is called
    ///     again, up to four times in all: only what it has accepted is stored.
    ///   - descriptors: descriptors in addition to those that are added automatically.
    public init(
        _ uuid: BluetoothUUID,
        _ properties: Characteristic.Properties,
        value: LocalCharacteristic.Value = .stored([]),
        access: AccessRequirement = .open,
        maximumLength: Int = 512,
        hasFixedLength: Bool = false,
        id: String? = nil,
        write: @escaping @Sendable ([UInt8], ConnectedCentral) async throws -> Void,
        @ListBuilder<LocalDescriptor> descriptors: () -> [LocalDescriptor] = { [] }
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

/// The closures that compute and take a value.
struct ValueClosures: Sendable {
    let read: (@Sendable (ConnectedCentral) async throws -> [UInt8])?
    let write: (@Sendable ([UInt8], ConnectedCentral) async throws -> Void)?
}

extension LocalCharacteristic {
    /// The closures that were declared with it.
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
    /// The closures of all characteristics, by their identifiers.
    var closures: [String: ValueClosures] {
        var closures: [String: ValueClosures] = [:]
        for characteristic in lazy.flatMap(\.characteristics) { closures[characteristic.id] = characteristic.closures }
        return closures
    }

    /// The same services without their closures, for the database: each central keeps the database, and a closure may
    /// keep the centrals that it was called for.
    var withoutClosures: [LocalService] {
        map { service in
            var service = service
            for index in service.characteristics.indices {
                service.characteristics[index].answers = service.characteristics[index].answers?.withoutClosures
            }
            return service
        }
    }
}
