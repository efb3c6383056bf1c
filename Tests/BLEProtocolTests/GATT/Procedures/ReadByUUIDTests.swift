import Testing

@testable import BLEProtocol

@Suite struct ReadByUUIDTests {
    @Test func `all values of a type are read, of one length per answer`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadByUUID(BluetoothUUID(0x2A19)))
        bearer.expect("08 0100 ffff 192a", answeredWith: "09 03 1200 64 3200 32")
        bearer.expect("08 3300 ffff 192a", answeredWith: "09 04 4000 0102")
        bearer.expect("08 4100 ffff 192a", answeredWith: "01 08 4100 0a")
        let values: [ReadByUUID.Value] = [
            .init(handle: 0x12, value: [0x64]), .init(handle: 0x32, value: [0x32]), .init(handle: 0x40, value: [1, 2]),
        ]
        bearer.expectFinished(.success(id, values))
    }

    @Test func `with a limit it stops asking`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadByUUID(BluetoothUUID.Characteristics.databaseHash, limit: 1))
        bearer.expect("08 0100 ffff 2a2b", answeredWith: "09 12 0900 000102030405060708090a0b0c0d0e0f")
        bearer.expectSends()
        bearer.expectFinished(.success(id, [ReadByUUID.Value(handle: 9, value: [UInt8](0...15))]))
    }

    @Test(arguments: ["0a", "02", "05", "0e", "80"])
    func `an error at the first one fails it, at a later one what was read stays`(code: String) {
        var bearer = Bearer()
        let none = bearer.begin(ReadByUUID(BluetoothUUID(0x2A19)))
        bearer.expect("08 0100 ffff 192a", answeredWith: "01 08 0100" + code)
        let later = bearer.begin(ReadByUUID(BluetoothUUID(0x2A19)))
        bearer.expect("08 0100 ffff 192a", answeredWith: "09 03 1200 64")
        bearer.expect("08 1300 ffff 192a", answeredWith: "01 08 3200" + code)
        let error = ATTError(rawValue: UInt8(code, radix: 16) ?? 0)
        bearer.expectFinished(
            .failure(none, .attribute(error, handle: 1)),
            .success(later, [ReadByUUID.Value(handle: 0x12, value: [0x64])])
        )
    }

    @Test func `what was read before the services changed doesn't stay`() {
        var bearer = Bearer()
        let id = bearer.begin(ReadByUUID(BluetoothUUID(0x2A19)))
        bearer.expect("08 0100 ffff 192a", answeredWith: "09 03 1200 64")
        bearer.expect("08 1300 ffff 192a", answeredWith: "01 08 1300 12")
        bearer.expectFinished(.failure(id, .attribute(.databaseOutOfSync, handle: 0x13)))
    }

    @Test func `several values are read at once`() {
        var bearer = Bearer()
        let fixed = bearer.begin(ReadMultiple(handles: [3, 7]))
        bearer.expect("0e 0300 0700", answeredWith: "0f 010203")
        let variable = bearer.begin(ReadMultipleVariable(handles: [3, 7]))
        bearer.expect("20 0300 0700", answeredWith: "21 0100 aa 0300 bbcc")
        let refused = bearer.begin(ReadMultipleVariable(handles: [3, 7]))
        bearer.expect("20 0300 0700", answeredWith: "01 20 0700 06")
        bearer.expectFinished(
            .success(fixed, [1, 2, 3] as [UInt8]),
            .success(
                variable,
                [
                    ReadMultipleVariable.Value(value: [0xAA], isCut: false),
                    ReadMultipleVariable.Value(value: [0xBB, 0xCC], isCut: true),
                ]
            ),
            .failure(refused, .attribute(.requestNotSupported, handle: 7))
        )
    }

    @Test(arguments: [(15, false), (16, true)])
    func `the last of several values may be cut if it fills the answer, whatever its length says`(
        count: Int,
        isCut: Bool
    ) {
        var bearer = Bearer()
        let id = bearer.begin(ReadMultipleVariable(handles: [3, 7]))
        let last = [UInt8](repeating: 0xCC, count: count)
        let lengths: [UInt8] = [0x21, 2, 0, 0xAA, 0xBB, UInt8(count), 0]
        bearer.expect("20 0300 0700", answeredWith: hex(lengths + last))
        bearer.expectFinished(
            .success(
                id,
                [
                    ReadMultipleVariable.Value(value: [0xAA, 0xBB], isCut: false),
                    ReadMultipleVariable.Value(value: last, isCut: isCut),
                ]
            )
        )
    }

    @Test func `a full answer may end between the octets of a length, another one may not`() {
        var bearer = Bearer()
        let first = [UInt8](repeating: 0xAA, count: 19)
        let full = bearer.begin(ReadMultipleVariable(handles: [3, 7]))
        bearer.expect("20 0300 0700", answeredWith: "21 1300" + hex(first) + "02")
        let short = bearer.begin(ReadMultipleVariable(handles: [3, 7]))
        bearer.expect("20 0300 0700", answeredWith: "21 0100 aa 02")
        let error = ATTDecodingError(opcode: .readMultipleVariableResponse, offset: 4, reason: .truncated)
        bearer.expectFinished(
            .success(full, [ReadMultipleVariable.Value(value: first, isCut: true)]),
            .failure(short, .malformedResponse(error))
        )
    }
}
