import BLESimulator
import BLEStreams

/// A simulated air with devices on it, and how they tell that they have shown all that they have.
struct Stage: Sendable {
    let air = SimulatedAir()
    private let end = AsyncStream<Void>.makeStream()

    /// The devices have shown what they have to show: the program may end. They live on until it has left them.
    func hasShownAll() { end.continuation.finish() }

    /// Waits for that.
    func waitForEnd() async { for await _ in end.stream {} }

    /// A device's radio.
    func radio(_ settings: AdapterSettings = AdapterSettings()) -> AdapterChoice {
        .radio(air.adapter(settings: settings))
    }
}

/// Runs a program beside the devices that it is for, until it is done or they have shown what they have to show.
func simulate(_ program: Program, _ words: [String]) async throws {
    print("This is a simulation. With a Bluetooth adapter: `swift run Programs \(program.name)`.")
    let (stage, words) = (Stage(), words.isEmpty ? try program.words() : words)
    try await withThrowingTaskGroup { devices in
        devices.addTask { try await program.devices(stage) }
        // Within the rest: the devices live until they have been left properly.
        defer { devices.cancelAll() }
        try await withThrowingTaskGroup { group in
            group.addTask { try await program.run(stage.radio(), words) }
            group.addTask { await stage.waitForEnd() }
            try await group.next()
            group.cancelAll()
        }
    }
}
