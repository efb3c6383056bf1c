import BLESimulator
import BLEStreams
import Testing

/// The task-local values that a program's closures find: those of the caller where they do the caller's work, else
/// those of the scope whose child task they run in.
@Suite(.timeLimit(.minutes(10))) struct BoundValueTests {
    @TaskLocal private static var bound = "nothing"

    @Test func `each closure finds what is bound around its caller, or its scope`() async throws {
        let seen = Recorder<String>()
        let note: @Sendable (String) -> Void = { seen.add("\($0): \(Self.bound)") }
        let value = BluetoothUUID(0xF501)
        let description = LocalPeripheral(name: "Bound") {
            LocalService(BluetoothUUID(0xF500)) {
                LocalCharacteristic(
                    value,
                    [.read, .write],
                    read: { _ in
                        note("read")
                        return [1]
                    },
                    write: { _, _ in note("write") }
                )
            }
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let far = air.adapter()
            let central = try await Central.open(.radio(air.adapter()))
            let peripheral = central.peripheral(far.address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Self.$bound.withValue("server") { try await description.run(on: far) } }
                try await Self.$bound.withValue("queue") {
                    try await peripheral.withQueue { queue in
                        let queue = queue.connecting()
                        try await Self.$bound.withValue("caller") {
                            try await queue.run(
                                .block("run") { link in
                                    note("run")
                                    _ = try await link.read(value)
                                    try await link.write([1], to: value)
                                }
                            )
                            try await queue.enqueue(.block("enqueued") { _ in note("enqueued") }).value
                            let flow = CommandBlock("flow") { context in
                                context.begin("phase")
                                note("flow")
                            }
                            try await queue.run(flow.timeout(.seconds(3)).retry(), replacing: .activeFlow) { _ in
                                note("progress")
                            }
                        }
                    }
                }
                try await Self.$bound.withValue("session") {
                    try await central.withSession(Session.Plan(peripheral)) { _ in
                        note("first steps")
                    } _: { session in
                        try await Self.$bound.withValue("caller") {
                            try await session.queue.run(.block("run") { _ in note("run") })
                            try await session.queue.enqueue(.block("enqueued") { _ in note("enqueued") }).value
                        }
                    }
                }
                try await Self.$bound.withValue("fleet") {
                    try await central.withFleet { fleet in
                        try await Self.$bound.withValue("caller") {
                            try await fleet.add(Session.Plan(peripheral)) { _ in note("first steps") }.ready()
                        }
                    }
                }
                group.cancelAll()
            }
        }
        #expect(
            seen.all == [
                "run: caller", "read: server", "write: server", "enqueued: queue", "progress: caller", "flow: caller",
                "first steps: session", "run: caller", "enqueued: session", "first steps: fleet",
            ]
        )
    }
}
