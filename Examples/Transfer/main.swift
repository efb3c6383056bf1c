// A message too long for one notification, sent in chunks and ended by "EOM": both roles.
//
//   swift run Transfer               receives from a peripheral nearby; without an adapter, both roles run simulated
//   swift run Transfer send          is the sending peripheral, on this machine's adapter
//   swift run Transfer --simulated   runs both roles on a simulated air
//
// Ctrl-C ends the subscription and drops the link before the program ends.

import BLESimulator
import BLEStreams
import ConsoleOutput
import Glibc
import Interruption

printLinesAtOnce()
let signals = TerminationSignals()

extension BluetoothUUID {
    static let transferService: BluetoothUUID = "7A1C0001-5F2B-4C8E-9D3A-6B70E14F2C55"
}

extension CharacteristicKey where Self == BluetoothUUID {
    static var transfer: Self { "7A1C0002-5F2B-4C8E-9D3A-6B70E14F2C55" }
}

// MARK: - The peripheral

let peripheral = LocalPeripheral(name: "Transfer") {
    LocalService(.transferService) {
        LocalCharacteristic(.transfer, [.notify])
    }
}

let message = (1...40).map { "Line \($0) of a message that doesn't fit into one notification." }.joined(separator: "\n")

/// Sends the message to every subscriber, until the task is cancelled.
func send(on adapter: AdapterChoice) async throws {
    try await peripheral.run(on: adapter) { server in
        for try await change in server.subscriptions(of: .transfer) where change.isSubscribed {
            do {
                try await server.send(message.utf8, of: .transfer, to: change.central)
            } catch let error as BLEError where error.code == .disconnected || error.code == .notSupported {
                print("\(change.central) left in the middle of the message.")
            } catch let error as BLEError where error.code == .overflow {
                print("\(change.central) agreed on a smaller MTU in the middle of the message.")
                change.central.disconnect()
            }
        }
    }
}

// MARK: - The central

/// Finds a sender, subscribes, and waits for one whole message.
func receive(on adapter: AdapterChoice) async throws {
    try await Central.with(adapter) { central in
        let sender = try await central.scan(for: .service(.transferService)).timeout(.seconds(10)).first()
        print("Found \(sender.name?.harmless ?? "a sender") at \(sender.address).")

        try await sender.peripheral.withLink { link in
            let received = try await link.notifications(of: .transfer)
                .onEach { print("  a chunk of \($0.count) octets") }
                .assembled(until: .endOfMessage("EOM"))
                .timeout(.seconds(30))
                .first()
            print(String(decoding: received, as: UTF8.self).harmlessLines)
            print("\(received.count) octets received.")
        }
    }
}

// MARK: - Both, without an adapter

/// Two adapters on one simulated air, with the same code as above on each.
func simulate() async throws {
    print("This is a simulation. With a Bluetooth adapter: `swift run Transfer send` on one machine,")
    print("`swift run Transfer` on another one.")
    let air = SimulatedAir()
    // In this order, so that the addresses are the same each time.
    let (receiver, sender) = (air.adapter(), air.adapter())
    try await withThrowingTaskGroup { group in
        group.addTask { try await send(on: .radio(sender)) }
        defer { group.cancelAll() }
        // In a nested group: the sender runs until the receiver has disconnected.
        try await signals.interrupt { try await receive(on: .radio(receiver)) }
    }
}

do {
    switch Array(CommandLine.arguments.dropFirst()) {
    case ["send"]:
        try await signals.interrupt { try await send(on: .default) }
    case ["--simulated"]:
        try await simulate()
    case let words where !words.isEmpty:
        printError("Transfer takes send, --simulated or nothing, and not '\(words.joined(separator: " "))'.")
        exit(2)
    default:
        do {
            try await signals.interrupt { try await receive(on: .default) }
        } catch let error as BLEError where error.code == .adapterNotFound || error.code == .unsupportedSystem {
            printError("No adapter: \(error)")
            try await simulate()
        }
    }
} catch is Interrupted {
    exit(Interrupted.exitStatus)
} catch {
    printError("Transfer failed: \(error)")
    exit(1)
}
