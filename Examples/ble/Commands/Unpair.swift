import BLEStreams

/// Removes the bond with a peripheral.
struct Unpair: Command {
    static let name = "unpair"
    static let summary = "remove the bond with a device, on this side"
    static let parameters = ["ADDRESS"]
    static let options: [Option] = []

    private let peripheral: PeripheralName

    init(_ arguments: Arguments) throws(UsageError) {
        peripheral = try PeripheralName(try arguments.parameters(Self.parameters)[0])
    }

    func run(in environment: CommandEnvironment) async throws {
        let peripheral = try environment.peripheral(peripheral)
        do {
            try await peripheral.unpair()
        } catch let error as BLEError where error.code == .notFound {
            // The bond may be in a file that could not be read.
            _ = try environment.bonds(for: error.operation, error.object)
            throw error
        }
        try environment.output.print(
            .object(("address", .string("\(peripheral)")), ("bonded", .bool(false))),
            "\(peripheral)  no longer paired"
        )
    }
}
