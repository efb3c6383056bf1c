import BLERadio

/// A D-Bus message on the wire, little-endian, with strings as its only arguments.
/// Source: D-Bus Specification, "Message Format" and "Type System".
struct WireMessage: Hashable {
    var type: UInt8
    var serial: UInt32 = 0
    var replySerial: UInt32?
    var path, interface, member, errorName, destination, sender: String?
    /// Types of the arguments: `s` and `o`, and others where the body is made by hand.
    var signature = ""
    var arguments: [String] = []
    /// What was read of the arguments, as it came; what is written in front of them.
    var body: [UInt8] = []

    static func reply(to serial: UInt32, _ arguments: String...) -> WireMessage {
        WireMessage(
            type: 2,
            replySerial: serial,
            sender: "org.freedesktop.DBus",
            signature: String(repeating: "s", count: arguments.count),
            arguments: arguments
        )
    }

    /// The answer to a question for a property that is true or false.
    static func reply(to serial: UInt32, property: Bool) -> WireMessage {
        var message = WireMessage(type: 2, replySerial: serial, sender: "org.bluez", signature: "v")
        message.body = [1, UInt8(ascii: "b"), 0, 0, property ? 1 : 0, 0, 0, 0]
        return message
    }

    /// The answer to a question for a property that is a text.
    static func reply(to serial: UInt32, property: String) -> WireMessage {
        var message = WireMessage(type: 2, replySerial: serial, sender: "org.bluez", signature: "v")
        message.body = [1, UInt8(ascii: "s"), 0]
        append(property, to: &message.body)
        return message
    }

    static func failure(of serial: UInt32, _ name: String) -> WireMessage {
        WireMessage(
            type: 3,
            replySerial: serial,
            errorName: name,
            sender: "org.freedesktop.DBus",
            signature: "s",
            arguments: ["Because."]
        )
    }

    static func question(_ member: String, from sender: String, _ path: String) -> WireMessage {
        WireMessage(
            type: 1,
            path: "/org/blestreams/agent",
            interface: "org.bluez.Agent1",
            member: member,
            sender: sender,
            signature: "o",
            arguments: [path]
        )
    }

    /// What the bus reports when a name gets another owner: the name, and the unique names before and after.
    static func ownerChanged(_ arguments: [String], from sender: String = "org.freedesktop.DBus") -> WireMessage {
        WireMessage(
            type: 4,
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "NameOwnerChanged",
            sender: sender,
            signature: String(repeating: "s", count: arguments.count),
            arguments: arguments
        )
    }

    // MARK: Writing

    func octets(serial: UInt32) -> [UInt8] {
        var body = body
        for argument in arguments { Self.append(argument, to: &body) }
        var fields: [UInt8] = []
        func field(_ code: UInt8, _ type: String, _ value: (inout [UInt8]) -> Void) {
            Self.pad(&fields, to: 8)
            fields += [code, 1] + Array(type.utf8) + [0]
            value(&fields)
        }
        let texts: [(UInt8, String, String?)] = [
            (1, "o", path), (2, "s", interface), (3, "s", member), (4, "s", errorName), (6, "s", destination),
            (7, "s", sender),
        ]
        for (code, type, text) in texts {
            if let text { field(code, type) { Self.append(text, to: &$0) } }
        }
        if let replySerial { field(5, "u") { Self.append(replySerial, to: &$0) } }
        if !signature.isEmpty { field(8, "g") { $0 += [UInt8(signature.utf8.count)] + Array(signature.utf8) + [0] } }
        var octets: [UInt8] = [UInt8(ascii: "l"), type, 0, 1]
        Self.append(UInt32(body.count), to: &octets)
        Self.append(serial, to: &octets)
        Self.append(UInt32(fields.count), to: &octets)
        octets += fields
        Self.pad(&octets, to: 8)
        return octets + body
    }

    private static func pad(_ octets: inout [UInt8], to alignment: Int) {
        while octets.count % alignment != 0 { octets.append(0) }
    }

    private static func append(_ number: UInt32, to octets: inout [UInt8]) {
        pad(&octets, to: 4)
        octets += (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func append(_ text: String, to octets: inout [UInt8]) {
        append(UInt32(text.utf8.count), to: &octets)
        octets += Array(text.utf8) + [0]
    }

    // MARK: Reading

    /// How long the message is whose beginning this is.
    static func length(in octets: [UInt8]) -> Int? {
        guard octets.count >= 16 else { return nil }
        let fields = (Int(number(octets, 12)) + 7) / 8 * 8
        return 16 + fields + Int(number(octets, 4))
    }

    private static func number(_ octets: [UInt8], _ offset: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(octets[offset + $1]) << (8 * UInt32($1)) }
    }

    init(
        type: UInt8,
        replySerial: UInt32? = nil,
        path: String? = nil,
        interface: String? = nil,
        member: String? = nil,
        errorName: String? = nil,
        sender: String? = nil,
        signature: String = "",
        arguments: [String] = []
    ) {
        (self.type, self.replySerial, self.path, self.interface) = (type, replySerial, path, interface)
        (self.member, self.errorName, self.sender) = (member, errorName, sender)
        (self.signature, self.arguments) = (signature, arguments)
    }

    init(reading octets: [UInt8]) {
        type = octets[1]
        serial = Self.number(octets, 8)
        let end = 16 + Int(Self.number(octets, 12))
        var position = 16
        func text() -> String {
            position = (position + 3) / 4 * 4
            let length = Int(Self.number(octets, position))
            defer { position += 4 + length + 1 }
            return String(decoding: octets[(position + 4)..<(position + 4 + length)], as: UTF8.self)
        }
        while position < end {
            position = (position + 7) / 8 * 8
            guard position < end else { break }
            let code = octets[position]
            position += 4
            switch code {
            case 1: path = text()
            case 2: interface = text()
            case 3: member = text()
            case 4: errorName = text()
            case 6: destination = text()
            case 7: sender = text()
            case 8:
                let length = Int(octets[position])
                signature = String(decoding: octets[(position + 1)..<(position + 1 + length)], as: UTF8.self)
                position += length + 2
            default:
                position = (position + 3) / 4 * 4
                if code == 5 { replySerial = Self.number(octets, position) }
                position += 4
            }
        }
        position = (end + 7) / 8 * 8
        body = Array(octets[position...])
        for kind in signature where kind == "s" || kind == "o" { arguments.append(text()) }
    }
}
