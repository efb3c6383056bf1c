import BLEStreams

/// A command, as it comes from the broker.
struct Command: Sendable {
    var id: JSONText?
    var peripheral: String
    var operation: CommandOperation
    var characteristic: BluetoothUUID
    var value: [UInt8]

    /// A command that can't be carried out, and why.
    struct Refusal: Error {
        var id: JSONText?
        var cause: String
        var remedy: String
    }

    /// Reads `{ "id": …, "peripheral": "kitchen", "op": "read", "characteristic": "2A6E", "value": "00ff" }`.
    init(_ payload: [UInt8]) throws(Refusal) {
        guard payload.count <= 8192, let json = try? JSONValue.reading(payload), case .object(let members) = json else {
            throw Refusal(cause: "the command is not a JSON object of at most 8192 octets", remedy: "Correct it.")
        }
        var id: JSONText?
        if case .string(let text) = members["id"] { id = .string(text) }
        if case .number(let number) = members["id"] { id = .plain(number) }
        self.id = id
        func text(_ field: String) throws(Refusal) -> String {
            guard case .string(let text) = members[field] else {
                throw Refusal(id: id, cause: "'\(field)' is missing or not a string", remedy: "Add it.")
            }
            return text
        }
        peripheral = try text("peripheral")
        let word = try text("op")
        guard let operation = CommandOperation(rawValue: word) else {
            let known = CommandOperation.allCases.map(\.rawValue).joined(separator: ", ")
            throw Refusal(id: id, cause: "there is no operation of that name", remedy: "The operations are: \(known).")
        }
        self.operation = operation
        guard let uuid = BluetoothUUID(try text("characteristic")) else {
            throw Refusal(id: id, cause: "'characteristic' is not a UUID", remedy: "Write it like 2A6E.")
        }
        characteristic = uuid
        guard operation != .read else {
            value = []
            return
        }
        guard let octets = octets(hex: try text("value")), octets.count <= 512 else {
            throw Refusal(id: id, cause: "'value' is not hexadecimal of at most 512 octets", remedy: "Correct it.")
        }
        value = octets
    }
}
