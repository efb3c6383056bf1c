/// libdbus's functions for messages, and the conversion between messages and values.
struct LibDBusMessages: Sendable {
    private typealias GetText = @Sendable @convention(c) (OpaquePointer) -> UnsafePointer<CChar>?
    private typealias GetNumber = @Sendable @convention(c) (OpaquePointer) -> UInt32
    private typealias SetText = @Sendable @convention(c) (OpaquePointer, UnsafePointer<CChar>) -> UInt32

    private let make: @Sendable @convention(c) (Int32) -> OpaquePointer?
    private let release: @Sendable @convention(c) (OpaquePointer) -> Void
    private let setAutoStart: @Sendable @convention(c) (OpaquePointer, UInt32) -> Void
    private let setReplySerial: @Sendable @convention(c) (OpaquePointer, UInt32) -> UInt32
    private let setDestination, setPath, setInterface, setMember, setErrorName: SetText
    private let type: @Sendable @convention(c) (OpaquePointer) -> Int32
    private let serial, replySerial: GetNumber
    private let sender, path, interface, member, errorName, signature: GetText
    private let beginAppending: @Sendable @convention(c) (OpaquePointer, UnsafeMutableRawPointer) -> Void
    private let append: @Sendable @convention(c) (UnsafeMutableRawPointer, Int32, UnsafeRawPointer) -> UInt32
    private let beginReading: @Sendable @convention(c) (OpaquePointer, UnsafeMutableRawPointer) -> UInt32
    private let argumentType: @Sendable @convention(c) (UnsafeMutableRawPointer) -> Int32
    private let readArgument: @Sendable @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void
    private let nextArgument: @Sendable @convention(c) (UnsafeMutableRawPointer) -> UInt32
    private let enterArgument: @Sendable @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void

    init(_ symbols: LibDBus.Symbols) throws(LibDBus.Symbols.Missing) {
        make = try symbols.find("dbus_message_new")
        release = try symbols.find("dbus_message_unref")
        setAutoStart = try symbols.find("dbus_message_set_auto_start")
        setReplySerial = try symbols.find("dbus_message_set_reply_serial")
        setDestination = try symbols.find("dbus_message_set_destination")
        setPath = try symbols.find("dbus_message_set_path")
        setInterface = try symbols.find("dbus_message_set_interface")
        setMember = try symbols.find("dbus_message_set_member")
        setErrorName = try symbols.find("dbus_message_set_error_name")
        type = try symbols.find("dbus_message_get_type")
        serial = try symbols.find("dbus_message_get_serial")
        replySerial = try symbols.find("dbus_message_get_reply_serial")
        sender = try symbols.find("dbus_message_get_sender")
        path = try symbols.find("dbus_message_get_path")
        interface = try symbols.find("dbus_message_get_interface")
        member = try symbols.find("dbus_message_get_member")
        errorName = try symbols.find("dbus_message_get_error_name")
        signature = try symbols.find("dbus_message_get_signature")
        beginAppending = try symbols.find("dbus_message_iter_init_append")
        append = try symbols.find("dbus_message_iter_append_basic")
        beginReading = try symbols.find("dbus_message_iter_init")
        argumentType = try symbols.find("dbus_message_iter_get_arg_type")
        readArgument = try symbols.find("dbus_message_iter_get_basic")
        nextArgument = try symbols.find("dbus_message_iter_next")
        enterArgument = try symbols.find("dbus_message_iter_recurse")
    }

    /// The value of a `DBusMessage`, which the library has checked against the specification.
    func value(of message: OpaquePointer) -> BusMessage {
        func text(_ get: GetText) -> String? { get(message).map { String(cString: $0) } }
        return BusMessage(
            kind: BusMessage.Kind(rawValue: type(message)),
            serial: serial(message),
            replySerial: replySerial(message),
            sender: text(sender),
            path: text(path),
            interface: text(interface),
            member: text(member),
            errorName: text(errorName),
            signature: text(signature) ?? "",
            arguments: arguments(of: message)
        )
    }

    /// Releases a message that the library has returned.
    func free(_ message: OpaquePointer) { release(message) }

    /// Calls the closure with a `DBusMessage` of this value; `nil` if there is no memory for it.
    func withObject<Value>(of message: BusMessage, _ body: (OpaquePointer) -> Value?) -> Value? {
        guard let object = make(message.kind.rawValue) else { return nil }
        defer { release(object) }
        // The message starts no program: bluetoothd runs, or it isn't needed.
        setAutoStart(object, 0)
        if message.replySerial != 0, setReplySerial(object, message.replySerial) == 0 { return nil }
        let texts: [(SetText, String?)] = [
            (setDestination, message.destination), (setPath, message.path), (setInterface, message.interface),
            (setMember, message.member), (setErrorName, message.errorName),
        ]
        for (set, text) in texts {
            if let text, set(object, text) == 0 { return nil }
        }
        return appendArguments(message.arguments, to: object) ? body(object) : nil
    }

    private func appendArguments(_ arguments: [BusMessage.Argument], to object: OpaquePointer) -> Bool {
        withIterator { iterator in
            beginAppending(object, iterator)
            return arguments.allSatisfy { argument in
                switch argument {
                case .string(let text), .objectPath(let text):
                    text.withCString { pointer in
                        withUnsafePointer(to: pointer) { append(iterator, argument.type, $0) != 0 }
                    }
                case .unsigned32(let number):
                    withUnsafePointer(to: number) { append(iterator, argument.type, $0) != 0 }
                case .boolean(let value):
                    withUnsafePointer(to: UInt32(value ? 1 : 0)) { append(iterator, argument.type, $0) != 0 }
                case .other: false
                }
            }
        } ?? false
    }

    private func arguments(of message: OpaquePointer) -> [BusMessage.Argument] {
        withIterator { iterator in
            var arguments: [BusMessage.Argument] = []
            guard beginReading(message, iterator) != 0 else { return arguments }
            repeat { arguments.append(argument(at: iterator)) } while nextArgument(iterator) != 0
            return arguments
        } ?? []
    }

    private func argument(at iterator: UnsafeMutableRawPointer) -> BusMessage.Argument {
        func text() -> String {
            var pointer: UnsafePointer<CChar>?
            readArgument(iterator, &pointer)
            return pointer.map { String(cString: $0) } ?? ""
        }
        let type = argumentType(iterator)
        switch type {
        case BusMessage.Argument.stringType: return .string(text())
        case BusMessage.Argument.objectPathType: return .objectPath(text())
        case BusMessage.Argument.unsigned32Type:
            var number: UInt32 = 0
            readArgument(iterator, &number)
            return .unsigned32(number)
        case BusMessage.Argument.booleanType:
            var number: UInt32 = 0
            readArgument(iterator, &number)
            return .boolean(number != 0)
        case BusMessage.Argument.variantType:
            let value = withIterator { inner in
                enterArgument(iterator, inner)
                // A nested variant could recurse as deep as a message is long.
                return argumentType(inner) == type ? .other(type) : argument(at: inner)
            }
            return value ?? .other(type)
        default: return .other(type)
        }
    }

    /// Room for a `DBusMessageIter`, which has 72 octets on 64-bit systems.
    private func withIterator<Value>(_ body: (UnsafeMutableRawPointer) -> Value) -> Value? {
        withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) { buffer in buffer.baseAddress.map(body) }
    }
}
