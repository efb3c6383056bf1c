// Carries what Bluetooth Low Energy sensors send to an MQTT 5 broker.
//
//   ble-gateway CONFIGURATION                  runs with the configuration in this file
//   ble-gateway --check CONFIGURATION          checks the file, and whether what it names can be read; and ends
//   ble-gateway --simulated [CONFIGURATION]    runs with simulated sensors, without an adapter
//   ble-gateway --help                         says the same
//   --interval MILLISECONDS                    how often a simulated sensor sends; 1000 by default
//   --counters NUMBER                          simulates so many counters more, "Counter 1" and so on
//
// SIGHUP reads the file again. SIGTERM and Ctrl-C end the program in order. A signal that was ignored at the start
// stays ignored.

import Dispatch
import Foundation
import Gateway
import Glibc

func fail(_ message: String) -> Never {
    say(message)
    exit(1)
}

/// Reads a configuration, and says what is wrong with it that is no reason to refuse it.
func configuration(in file: String) throws -> Configuration {
    let configuration = try Configuration(file: file)
    for caution in configuration.cautions { say("\(caution)") }
    return configuration
}

func configuration(_ invocation: Invocation) throws -> Configuration {
    if let file = invocation.file { return try configuration(in: file) }
    let folder = NSTemporaryDirectory() + "/ble-gateway-spool"
    say("Without a configuration: the broker is localhost:1883, and the spool is in \(folder).")
    return SimulatedSensors.configuration(spool: folder)
}

keepStandardStreams()
// write() reports that the reader of the log has left; no signal does.
signal(SIGPIPE, SIG_IGN)

let invocation: Invocation
do {
    invocation = try Invocation(Array(CommandLine.arguments.dropFirst()))
} catch {
    fail("\(error)")
}

if invocation.isHelp {
    print(Invocation.usage)
    exit(0)
}

let (orders, control) = AsyncStream<Order>.makeStream(bufferingPolicy: .bufferingNewest(16))
let signals = Signals { number in
    guard number == SIGHUP else {
        control.yield(.stop)
        // No later order takes its place in the buffer.
        control.finish()
        return
    }
    do {
        guard let file = invocation.file else { return say("There is no configuration file to reload.") }
        let new = try configuration(in: file)
        try new.checkFiles()
        control.yield(.reload(new))
    } catch {
        say("\(error) The old configuration stays in force.")
    }
}

do {
    let configuration = try configuration(invocation)
    if invocation.isCheck {
        try configuration.checkFiles()
        say("\(invocation.file ?? "") is valid.")
        exit(0)
    }
    guard invocation.isSimulated else {
        try await Gateway(configuration, orders: orders, report: say).run()
        exit(0)
    }
    say("This is a simulation. With a Bluetooth adapter: ble-gateway CONFIGURATION.")
    let sensors = SimulatedSensors(every: invocation.interval, counters: invocation.counters)
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await sensors.run() }
        defer { group.cancelAll() }
        try await Gateway(configuration, orders: orders, radio: sensors.radio, report: say).run()
    }
    exit(0)
} catch {
    fail("\(error)")
}
