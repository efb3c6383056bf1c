package import BLEProtocol

/// Where a fuzzer takes the arguments of a procedure from: its octets, or a generator.
package protocol ProcedureArguments {
    /// A handle, mostly a small one: ranges then meet.
    mutating func handle() -> UInt16
    /// Any number of octets up to 600.
    mutating func value() -> [UInt8]
    mutating func octet() -> UInt8
    mutating func uint16() -> UInt16
    mutating func chance() -> Bool
}

/// The procedures that are run against servers that answer anything: the one list for all fuzzers.
package enum FuzzedProcedure {
    /// How many kinds there are. The fuzzer's seeds name a kind by its number: a new one goes to the end.
    package static let count = 18

    /// A procedure of a kind, from 0 to ``count`` - 1.
    package static func make(_ kind: Int, from arguments: inout some ProcedureArguments) -> any GATTProcedure {
        let (handle, uuid) = (arguments.handle(), BluetoothUUID(UInt16(0x2800) + UInt16(arguments.octet())))
        let range = handle...max(handle, 0x60)
        return switch kind {
        case 0: ExchangeMTU()
        case 1: ReadValue(handle: handle, offset: arguments.chance() ? arguments.uint16() : 0)
        case 2: WriteValue(handle: handle, value: arguments.value())
        case 3: WriteCommand(handle: handle, value: shortValue(of: handle, &arguments))
        case 4: LongWrite(handle: handle, value: arguments.value(), isVerified: arguments.chance())
        case 5: WriteValue(handle: handle, value: [arguments.chance() ? 2 : 1, 0])
        case 6: ReadByUUID(uuid, limit: arguments.chance() ? 1 : .max)
        case 7: ReadMultipleVariable(handles: [handle, 1])
        case 8: ReadMultiple(handles: [handle, 1])
        case 9: DiscoverServicesByUUID(uuid)
        case 10: DiscoverIncludedServices(in: range)
        case 11: DiscoverDescriptors(in: [2...4, 9...max(9, handle)])
        case 12: DiscoverServices(in: range)
        case 13: DiscoverCharacteristics(in: range)
        case 14: SettleBearer()
        case 15: DiscoverDatabase(services: [uuid, uuid])
        case 16: DiscoverDatabase()
        default: signedWrite(handle, &arguments)
        }
    }

    private static func signedWrite(
        _ handle: UInt16,
        _ arguments: inout some ProcedureArguments
    ) -> any GATTProcedure {
        let value = shortValue(of: handle, &arguments)
        guard let key = SigningKey(octets: [UInt8](0..<16)) else {
            preconditionFailure("a key has 16 octets")
        }
        return SignedWrite(handle: handle, value: value, key: key, counter: 1, isLinkEncrypted: arguments.chance())
    }

    /// What a command may carry: half of the values fit the smallest ATT_MTU, with a signature too.
    private static func shortValue(of handle: UInt16, _ arguments: inout some ProcedureArguments) -> [UInt8] {
        Array(arguments.value().prefix(handle.isMultiple(of: 2) ? 8 : 600))
    }
}
