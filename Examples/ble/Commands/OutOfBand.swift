import BLEStreams

/// Makes what another device needs to pair with this one without being asked.
struct OutOfBand: Command {
    static let name = "oob"
    static let summary = "make out-of-band data, by which another device pairs with this one"
    static let parameters: [String] = []
    static let options: [Option] = []
    static let notes = """
        It is printed, since that is what it is for: as a code, by NFC, through a file. Whoever has it may pair as the one
        who was meant. It holds for the next pairing, until it is made again or the adapter is switched off. What the other
        device tells goes to `ble pair ADDRESS --oob` or `ble serve --oob`. The octets are AD structures, as in an NFC
        record of the type application/vnd.bluetooth.le.oob.
        """

    init(_ arguments: Arguments) throws(UsageError) { _ = try arguments.parameters(Self.parameters) }

    func run(in environment: CommandEnvironment) async throws {
        let data = try await environment.central.makeOutOfBandData()
        try environment.output.print(
            .object(("address", .string(data.address.map { "\($0)" })), ("oob", .hex(data.octets))),
            AdvertisingData(bytes: data.octets).description
        )
    }
}

extension Arguments {
    /// What the other device has told, in hexadecimal or in a file; an error doesn't repeat it.
    func outOfBandData() throws(UsageError) -> OutOfBandData? {
        guard let text = last("oob") else { return nil }
        let octets: [UInt8]?
        if text.hasPrefix("@") {
            do {
                octets = try readFile(String(text.dropFirst()))
            } catch {
                throw UsageError("--oob: that file can't be read")
            }
        } else {
            octets = [UInt8](hex: text)
        }
        guard let octets else { throw UsageError("--oob: octets are written as pairs of hex digits; a file as @FILE") }
        guard let data = OutOfBandData(octets: octets) else {
            throw UsageError("--oob: there are no values of LE Secure Connections in it, the AD types 0x22 and 0x23")
        }
        return data
    }
}

extension Option {
    static let outOfBand = Option(
        "oob",
        value: "HEX|@FILE",
        help: "what the other device has told out of band, as `ble oob` prints it"
    )
}
