internal import BLERadio

extension Bluetoothd {
    /// Asks bluetoothd with which of these adapters it scans; the closure gets its answers, without those adapters of
    /// which it says nothing, and is called once. Never starts it. On the loop's thread.
    static func findWhetherItScans(
        with adapters: [String],
        over bus: SystemBus,
        loop: EventLoop,
        timeline: any Timeline,
        _ result: @escaping @Sendable ([String: Bool]) -> Void
    ) {
        guard bus.isThere else { return result([:]) }
        openBus(bus, loop: loop, timeline: timeline) { opened in
            guard let connection = try? opened.get() else { return result([:]) }
            ask(adapters[...], [:], connection) { answers in
                connection.close()
                result(answers)
            }
        }
    }

    /// One question at a time.
    private static func ask(
        _ adapters: ArraySlice<String>,
        _ answers: [String: Bool],
        _ connection: BusConnection,
        _ result: @escaping @Sendable ([String: Bool]) -> Void
    ) {
        guard let adapter = adapters.first else { return result(answers) }
        connection.call(whetherItScans(with: adapter), deadline: PairingAgent.patience) { answer in
            var answers = answers
            if case .success(let reply) = answer, case .boolean(let value)? = reply.arguments.first {
                answers[adapter] = value
            }
            ask(adapters.dropFirst(), answers, connection, result)
        }
    }

    /// The call that reads whether it scans with an adapter. Source: BlueZ, `doc/adapter-api.txt`, `Discovering`.
    private static func whetherItScans(with adapter: String) -> BusMessage {
        .call(
            "Get",
            of: "org.freedesktop.DBus.Properties",
            at: path(of: adapter),
            in: BusMessage.bluetoothd,
            [.string("org.bluez.Adapter1"), .string("Discovering")]
        )
    }
}
