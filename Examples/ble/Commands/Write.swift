import BLEStreams

/// Writes one value.
struct Write: Command {
    static let name = "write"
    static let summary = "write a value: hexadecimal digits, text, or the contents of a file"
    static let parameters = ["ADDRESS", "CHARACTERISTIC", "HEX|@FILE"]
    static let options =
        [
            Option("text", help: "HEX is text, to be written as UTF-8"),
            Option("without-response", help: "write without waiting for an answer"),
            Option("reliable", help: "have the device echo each part, and compare them before the write takes effect"),
            Option.fresh,
            Option.deadline,
        ] + SecurityOptions.options
    static let notes =
        """
        @FILE writes the contents of a file, or of a pipe; @- writes what standard input has up to its end. A value may
        be empty, like ''; the command then says that it has written no octets. A text that begins with - is taken for
        an option, unless it stands behind --: in a script, write --text -- "$TEXT".


        """ + CharacteristicName.descriptorNote + SecurityOptions.notes

    private enum Source {
        case octets([UInt8])
        case file(NamedFile)
    }

    private let peripheral: PeripheralName
    private let characteristic: CharacteristicName
    private let source: Source
    private let kind: Link.WriteKind
    private let limit: Duration?
    private let security: SecurityOptions

    init(_ arguments: Arguments) throws(UsageError) {
        let words = try arguments.parameters(Self.parameters)
        peripheral = try PeripheralName(words[0])
        characteristic = try CharacteristicName(words[1], mayBeDescriptor: true)
        if arguments.has("text") {
            source = .octets(Array(words[2].utf8))
        } else if let file = try NamedFile(words[2]) {
            source = .file(file)
        } else {
            guard let octets = [UInt8](hex: words[2]) else {
                let form =
                    "write octets as pairs of hex digits like 00ff, text with --text, a file as @FILE, standard input "
                    + "as @-"
                throw UsageError("HEX '\(words[2])': \(form)", discreetly: "HEX: \(form)")
            }
            source = .octets(octets)
        }
        switch (arguments.has("without-response"), arguments.has("reliable")) {
        case (true, true): throw UsageError("--without-response and --reliable exclude each other")
        case (true, false): kind = .withoutResponse
        case (false, true): kind = .reliable
        case (false, false): kind = .withResponse
        }
        limit = try arguments.seconds("timeout")
        security = try SecurityOptions(arguments)
    }

    func run(in environment: CommandEnvironment) async throws {
        let value: [UInt8]
        switch source {
        case .octets(let octets): value = octets
        case .file(let file): value = try file.read()
        }
        let deadline = limit.map { Deadline(in: $0) }
        try await environment.withLink(to: peripheral, deadline, security: security) { link in
            let attribute = try await environment.find(characteristic, on: link, deadline)
            try await link.write(value, to: attribute, kind, timeout: deadline?.remaining)
        }
        if value.isEmpty {
            // It may be an unset variable of a shell, or an empty pipe.
            environment.log.say("wrote an empty value, of 0 octets")
        } else {
            environment.log.detail("wrote \(value.count) octets")
        }
        try environment.output.print(.object(("written", .number(value.count))))
    }
}

extension [UInt8] {
    /// Reads pairs of hex digits; `nil` for anything else.
    init?(hex text: String) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else {
            return nil
        }
        self = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }
}
