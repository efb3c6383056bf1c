// Follows every heart-rate sensor nearby, with a line for each that shows its state and values. On a terminal, it
// updates the lines in place.
//
//   swift run Fleet                   all sensors in range; without an adapter, simulated ones
//   swift run Fleet ADDRESS…          these sensors
//   swift run Fleet --keep ADDRESS…   these sensors; later `swift run Fleet --keep` follows them again
//   swift run Fleet --simulated       twelve simulated sensors that come and go, for half a minute
//   swift run Fleet --metrics …       the same, with a page of metrics for Prometheus at the end
//
// Ctrl-C switches off what was switched on, and drops the links, before the program ends.

import BLEDevices
import BLESimulator
import BLEStreams
import ConsoleOutput
import Glibc
import Interruption

printLinesAtOnce()
let signals = TerminationSignals()
let page = CommandLine.arguments.contains("--metrics") ? MetricsPage() : nil

/// Follows the sensors with these addresses, the kept ones, or all that are heard, until the task is cancelled.
func follow(on adapter: AdapterChoice, _ addresses: [String] = [], isKept: Bool = false) async throws {
    let adapter = page.map { adapter.reporting(to: $0) } ?? adapter
    defer { if let page { print(page.text) } }
    try await Central.with(adapter) { central in
        try await central.withFleet { fleet in
            let table = Table()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await change in fleet.transitions { table.show(change) } }
                group.addTask { for try await item in fleet.values { table.show(item) } }
                for address in addresses {
                    var plan = Session.Plan(try central.peripheral(address)).subscribing(to: .heartRateMeasurement)
                    plan.isKept = isKept
                    fleet.add(plan)
                }
                if isKept, addresses.isEmpty { try fleet.restore() }
                if !isKept, addresses.isEmpty {
                    for try await sensor in central.scan(for: .service(.heartRate), .connectable) {
                        table.name(sensor.address, sensor.name)
                        fleet.add(Session.Plan(sensor.peripheral).subscribing(to: .heartRateMeasurement))
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}

func simulate() async throws {
    print("This is a simulation. With a Bluetooth adapter and sensors nearby: `swift run Fleet`.")
    let air = SimulatedAir()
    try await withThrowingTaskGroup { group in
        for number in 1...12 { group.addTask { try await liveAndSuffer(number, on: air) } }
        defer { group.cancelAll() }
        // In a nested group: the sensors run until their central has disconnected.
        try await signals.interrupt {
            try await withThrowingTaskGroup { group in
                group.addTask { try await follow(on: .radio(air.adapter())) }
                try await Task.sleep(for: .seconds(30))
                group.cancelAll()
            }
        }
    }
}

func run(_ words: [String]) async throws {
    let options = ["--keep", "--metrics", "--simulated"]
    if let wrong = words.first(where: { $0.hasPrefix("--") && !options.contains($0) }) {
        printError("There is no option '\(wrong)'; there are \(options.joined(separator: ", ")).")
        exit(2)
    }
    let addresses = words.filter { !$0.hasPrefix("--") }
    if let wrong = addresses.first(where: { BluetoothAddress.candidates(for: $0).isEmpty }) {
        printError("'\(wrong)' is not an address. Write one like C4:F2:17:1A:1D:BB.")
        exit(2)
    }
    if words.contains("--simulated") {
        guard addresses.isEmpty, !words.contains("--keep") else {
            printError("--simulated follows sensors of its own: give no address with it, and no --keep.")
            exit(2)
        }
        return try await simulate()
    }
    do {
        try await signals.interrupt {
            try await follow(on: .default, addresses, isKept: words.contains("--keep"))
        }
    } catch let error as BLEError where error.code == .adapterNotFound || error.code == .unsupportedSystem {
        printError("No adapter: \(error)")
        try await simulate()
    }
}

do {
    try await run(Array(CommandLine.arguments.dropFirst()))
} catch is Interrupted {
    exit(Interrupted.exitStatus)
} catch {
    printError("Fleet failed: \(error)")
    exit(1)
}
