import BLEStreams

/// A command, as it comes from the broker.
struct Command: Sendable {
    /// What is to be done to the peripheral.
    enum Request: Hashable, Sendable {
        case read(BluetoothUUID)
        case write([UInt8], to: BluetoothUUID, Link.WriteKind)
        case connect
        /// The SHA-256 of the image's file.
        case update(image: String)

        /// The characteristic that it concerns; `nil`: the peripheral as a whole.
        var characteristic: BluetoothUUID? {
            switch self {
            case .read(let characteristic), .write(_, to: let characteristic, _): characteristic
            case .connect, .update: nil
            }
        }
    }

    var id: JSONText?
    var peripheral: String
    var operation: CommandOperation
    var request: Request

    /// A command that can't be carried out, and why.
    struct Refusal: Error {
        var id: JSONText?
        var cause: String
        var remedy: String
    }

    /// Reads `{ "id": …, "peripheral": "kitchen", "op": "read", "characteristic": "2A6E", "value": "00ff" }`.
    init(_ payload: [UInt8]) throws(Refusal) {
        let fields = Fields(members: try Self.members(payload))
        guard !fields.hasInexactID else {
            throw Refusal(cause: "'id' is a number that can't be returned exactly", remedy: "Write it as a string.")
        }
        id = fields.id
        peripheral = try fields.text("peripheral")
        let word = try fields.text("op")
        guard let operation = CommandOperation(rawValue: word) else {
            let known = CommandOperation.allCases.map(\.rawValue).joined(separator: ", ")
            throw fields.refusal("there is no operation of that name", "The operations are: \(known).")
        }
        self.operation = operation
        request =
            switch operation {
            case .read: .read(try fields.characteristic())
            case .write: .write(try fields.value(), to: try fields.characteristic(), .withResponse)
            case .writeWithoutResponse: .write(try fields.value(), to: try fields.characteristic(), .withoutResponse)
            case .connect: .connect
            case .update: .update(image: try fields.image())
            }
    }

    private static func members(_ payload: [UInt8]) throws(Refusal) -> [String: JSONValue] {
        do {
            if payload.count <= 8192, case .object(let members) = try JSONValue.reading(payload) { return members }
        } catch is JSONValue.TooDeep {
            throw Refusal(
                cause: "the command is nested more than \(JSONValue.deepest) deep",
                remedy: "Remove the nesting."
            )
        } catch {
            // It isn't JSON.
        }
        throw Refusal(cause: "the command is not a JSON object of at most 8192 octets", remedy: "Send one such object.")
    }
}

/// The members of a command's object.
private struct Fields {
    let members: [String: JSONValue]

    var id: JSONText? {
        switch members["id"] {
        case .string(let text)?: .string(text)
        case .integer(let number)?: .number(number)
        case .number(let number)? where !hasInexactID: .plain(number)
        default: nil
        }
    }

    /// Whether the reply would have another number: one that is neither an integer of 64 bits nor below 2⁵³.
    var hasInexactID: Bool {
        guard case .number(let number)? = members["id"] else { return false }
        return abs(number) >= 0x1p53
    }

    func refusal(_ cause: String, _ remedy: String) -> Command.Refusal {
        Command.Refusal(id: id, cause: cause, remedy: remedy)
    }

    func text(_ field: String) throws(Command.Refusal) -> String {
        guard case .string(let text) = members[field] else {
            throw refusal("'\(field)' is missing or not a string", "Write it as a string.")
        }
        return text
    }

    func characteristic() throws(Command.Refusal) -> BluetoothUUID {
        guard let uuid = BluetoothUUID(try text("characteristic")) else {
            throw refusal("'characteristic' is not a UUID", "Write it like 2A6E.")
        }
        return uuid
    }

    func value() throws(Command.Refusal) -> [UInt8] {
        guard let octets = octets(hex: try text("value")), octets.count <= 512 else {
            throw refusal("'value' is not hexadecimal of at most 512 octets", "Write two digits for each: 00ff.")
        }
        return octets
    }

    /// It becomes a part of a path, so it is nothing but digits.
    func image() throws(Command.Refusal) -> String {
        let hash = try text("image")
        guard let octets = octets(hex: hash), octets.count == 32, octets.hex == hash else {
            throw refusal(
                "'image' is not a SHA-256 of 64 hexadecimal digits in lower case",
                "Write what sha256sum prints of the image's file."
            )
        }
        return hash
    }
}
