import BLEStreams

/// Lists the bonds that are kept on this machine.
struct Bonds: Command {
    static let name = "bonds"
    static let summary = "list the devices that this machine is paired with"
    static let parameters: [String] = []
    static let options: [Option] = []
    static let notes = "Bonds that bluetoothd has made are listed by `bluetoothctl devices Bonded`."

    init(_ arguments: Arguments) throws(UsageError) { _ = try arguments.parameters(Self.parameters) }

    func run(in environment: CommandEnvironment) async throws {
        for bond in environment.central.bonds {
            try environment.output.print(
                .object(
                    ("address", .string("\(bond.peer)")),
                    ("addressType", .string(bond.peer.kind.rawValue)),
                    ("adapter", .string("\(bond.adapter)")),
                    ("authenticated", .bool(bond.isAuthenticated))
                ),
                "\(bond.peer)  \(bond.peer.kind)  with \(bond.adapter)"
                    + (bond.isAuthenticated ? "  authenticated" : "")
            )
        }
        if environment.central.bonds.isEmpty { environment.log.say("there are no bonds; `ble pair ADDRESS` makes one") }
    }
}
