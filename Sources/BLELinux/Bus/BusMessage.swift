/// A message of D-Bus, as a value. Source: D-Bus Specification, "Message Protocol".
struct BusMessage: Hashable, Sendable {
    /// The kinds, by their number in the header; unknown ones are kept.
    struct Kind: RawRepresentable, Hashable, Sendable {
        let rawValue: Int32

        static let call = Kind(rawValue: 1)
        static let reply = Kind(rawValue: 2)
        static let failure = Kind(rawValue: 3)
        static let signal = Kind(rawValue: 4)
    }

    /// An argument, of the types that are used here.
    enum Argument: Hashable, Sendable {
        case string(String)
        case objectPath(String)
        case unsigned32(UInt32)
        case boolean(Bool)
        /// Another type, by its code.
        case other(Int32)

        static let stringType = Int32(UInt8(ascii: "s"))
        static let objectPathType = Int32(UInt8(ascii: "o"))
        static let unsigned32Type = Int32(UInt8(ascii: "u"))
        static let booleanType = Int32(UInt8(ascii: "b"))
        /// A value together with its type; it is read as the value.
        static let variantType = Int32(UInt8(ascii: "v"))

        /// The code of its type.
        var type: Int32 {
            switch self {
            case .string: Self.stringType
            case .objectPath: Self.objectPathType
            case .unsigned32: Self.unsigned32Type
            case .boolean: Self.booleanType
            case .other(let type): type
            }
        }
    }

    var kind: Kind
    /// The sender's number of the message; zero before it has been sent.
    var serial: UInt32 = 0
    /// The number of the message that this one answers; zero for none.
    var replySerial: UInt32 = 0
    var sender: String?
    var destination: String?
    var path: String?
    var interface: String?
    var member: String?
    var errorName: String?
    /// The types of the arguments: `os` for an object path and a string.
    var signature = ""
    var arguments: [Argument] = []

    /// A call to an object of another program.
    static func call(
        _ member: String,
        of interface: String,
        at path: String,
        in destination: String,
        _ arguments: [Argument] = []
    ) -> BusMessage {
        BusMessage(
            kind: .call,
            destination: destination,
            path: path,
            interface: interface,
            member: member,
            arguments: arguments
        )
    }

    /// A call to the bus itself.
    static func busCall(_ member: String, _ arguments: [Argument] = []) -> BusMessage {
        call(member, of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", in: "org.freedesktop.DBus", arguments)
    }

    /// The answer to this call: done, without a result.
    var done: BusMessage { BusMessage(kind: .reply, replySerial: serial, destination: sender) }

    /// The answer to this call: no.
    func refusal(_ name: String, _ text: String) -> BusMessage {
        BusMessage(
            kind: .failure,
            replySerial: serial,
            destination: sender,
            errorName: name,
            arguments: [.string(text)]
        )
    }

    /// Whether this is the library's own message that the connection is over.
    var isEndOfConnection: Bool {
        kind == .signal && interface == "org.freedesktop.DBus.Local" && member == "Disconnected"
    }
}

extension BusMessage.Argument: CustomStringConvertible, CustomReflectable {
    /// Without numbers, which may be passkeys.
    var description: String {
        switch self {
        case .string(let text): text
        case .objectPath(let path): path
        case .unsigned32: "<number>"
        case .boolean(let value): "\(value)"
        case .other(let type): "<type \(type)>"
        }
    }
    /// As ``description``.
    var customMirror: Mirror { Mirror(reflecting: description) }
}

/// Why something could not be done over D-Bus.
enum BusFailure: Error, Hashable, Sendable {
    /// libdbus is not installed.
    case noLibrary
    /// The bus can't be reached, with the library's reason.
    case unreachable(String)
    /// The other side answered with an error, by its name and its text.
    case refused(name: String, text: String)
    /// There was no answer in time.
    case timedOut
    /// The bus has ended the connection.
    case closed
}

extension BusFailure {
    /// The bus's answer about a name that no program has.
    static let noOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"

    /// Whether the bus doesn't let this program send the message.
    var isDenial: Bool {
        if case .refused(let name, _) = self { name.hasSuffix(".AccessDenied") } else { false }
    }

    /// Whether it is unknown whether the other side has done what it was asked: nobody has answered, or this program
    /// may not ask.
    var leavesDoubt: Bool {
        switch self {
        case .timedOut, .closed: true
        case .refused(let name, _): isDenial || Self.departures.contains(name)
        case .noLibrary, .unreachable: false
        }
    }

    /// What the bus answers in place of a program that has left before the call, or before it has answered. Source:
    /// D-Bus, `bus/dispatch.c`, `bus/connection.c`.
    private static let departures: Set<String> = [
        "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown", noOwner,
    ]
}

extension BusFailure: CustomStringConvertible {
    /// What went wrong, as part of a sentence.
    var description: String {
        switch self {
        case .noLibrary: "libdbus-1.so.3 is not installed"
        case .unreachable(let why): "the system bus can't be reached: \(why)"
        case .refused(let name, let text): text.isEmpty ? name : "\(text) (\(name))"
        case .timedOut: "there was no answer over the system bus"
        case .closed: "the system bus ended the connection"
        }
    }
}
