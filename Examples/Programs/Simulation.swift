import BLESimulator
import BLEStreams

/// A simulated air with devices, which end the simulation when they have shown everything.
struct Stage: Sendable {
    let air = SimulatedAir()
    private let end = AsyncStream<Void>.makeStream()

    /// Lets the program end: the devices have shown everything. They run on until the program has disconnected.
    func hasShownAll() { end.continuation.finish() }

    /// Waits until the devices have shown everything.
    func waitForEnd() async { for await _ in end.stream {} }

    /// A radio for a device.
    func radio(_ settings: AdapterSettings = AdapterSettings()) -> AdapterChoice {
        .radio(air.adapter(settings: settings))
    }
}

/// Runs a program with its simulated devices, until it is done or they have shown everything.
func simulate(_ program: Program, _ words: [String]) async throws {
    print("This is a simulation. With a Bluetooth adapter: `swift run Programs \(program.name)`.")
    let (stage, words) = (Stage(), words.isEmpty ? try program.words() : words)
    try await withThrowingTaskGroup { devices in
        devices.addTask { try await program.devices(stage) }
        // In a nested group: the devices run until the program has disconnected.
        defer { devices.cancelAll() }
        try await withThrowingTaskGroup { group in
            group.addTask { try await program.run(stage.radio(), words) }
            group.addTask { await stage.waitForEnd() }
            try await group.next()
            group.cancelAll()
        }
    }
}
