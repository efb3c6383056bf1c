import BLEDevices
@preconcurrency import Dispatch
import Glibc
import Interruption

/// What systemd, Ctrl-C and a terminal that closes send. One that is ignored from the start stays ignored.
private let numbers = [SIGTERM, SIGINT, SIGHUP].filter { !IgnoredSignals.contains($0) }

private let shutdown = BLEStream<Void> { feed in
    let sources = numbers.map { number in
        signal(number, SIG_IGN)
        return DispatchSource.makeSignalSource(signal: number)
    }
    for source in sources {
        source.setEventHandler { feed.send(()) }
        source.activate()
    }
    return { for source in sources { source.cancel() } }
}

/// A thermometer that shuts down cleanly: when it is told to end, it sends its centrals a last value, then disconnects.
func server(on adapter: AdapterChoice, _ words: [String]) async throws {
    let thermometer = LocalPeripheral(name: "Thermometer") {
        LocalService(.environmentalSensing) { LocalCharacteristic(.temperature, [.read, .notify], value: 20) }
    }
    try await thermometer.run(on: adapter) { server in
        print("Serving. Ctrl-C ends it.")
        for try await second in BLEStream<Int>.interval(.seconds(1)).take(until: shutdown) {
            try await server.notify(20 + Double(second % 10) / 10, of: .temperature)
        }
        let outcomes = try await server.notify(-273.15, of: .temperature)
        print("Centrals that were told of the end: \(outcomes.count { $0.isSent }).")
    }
    print("Ended.")
}
