import BLEStreams

/// Makes the data with which another device pairs with this one without questions.
struct OutOfBand: Command {
    static let name = "oob"
    static let summary = "make out-of-band data for another device to pair with this one"
    static let parameters: [String] = []
    static let options: [Option] = []
    static let notes = """
        The data is printed, to be passed on as a code, by NFC or in a file. Anyone who has it can pair in place of the
        intended device. It is valid for the next pairing, until new data is made or the adapter is switched off. Pass
        the other device's data to `ble pair ADDRESS --oob` or `ble serve --oob`: as it is printed, or as @FILE with a
        file that has it, or @- for standard input. The octets are AD structures, as in an NFC record of the type
        application/vnd.bluetooth.le.oob; a file may also have these octets themselves.
        """

    init(_ arguments: Arguments) throws(UsageError) { _ = try arguments.parameters(Self.parameters) }

    func run(in environment: CommandEnvironment) async throws {
        let data = try await environment.central.makeOutOfBandData()
        try environment.output.print(
            .object(("address", .string(data.address.map { "\($0)" })), ("oob", .hex(data.octets))),
            AdvertisingData(bytes: data.octets).description,
            isWhole: true
        )
    }
}

extension Arguments {
    /// The other device's data, in hexadecimal or in a file; an error doesn't repeat it.
    func outOfBandData() throws(UsageError) -> OutOfBandData? {
        guard let text = last("oob") else { return nil }
        let octets: [UInt8]?
        if let file = try NamedFile(text) {
            do {
                let contents = try file.read()
                // What `ble oob` has printed into it, or the octets of an NFC record.
                let words = String(decoding: contents, as: UTF8.self).split(whereSeparator: \.isWhitespace)
                octets = words.count == 1 ? [UInt8](hex: String(words[0])) ?? contents : contents
            } catch {
                throw UsageError.unreadable("--oob", error)
            }
        } else {
            octets = [UInt8](hex: text)
        }
        guard let octets else {
            throw UsageError("--oob: write octets as pairs of hex digits, a file as @FILE, standard input as @-")
        }
        guard let data = OutOfBandData(octets: octets) else {
            throw UsageError("--oob: it contains no LE Secure Connections values, the AD types 0x22 and 0x23")
        }
        return data
    }
}

extension Option {
    static let outOfBand = Option(
        "oob",
        value: "HEX|@FILE",
        help: "the other device's out-of-band data, as `ble oob` prints it; @- reads standard input",
        isSecret: true
    )
}
