import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Synchronization

/// A flow of a program: one that it has written by itself, or an update of the firmware.
enum PlannedFlow: String, Sendable, CaseIterable {
    case observes, updatesPlainly, updatesByMCUmgr, configures, synchronizes, pairs
}

/// Reads, subscribes, and takes five values, on as many links as it needs.
private struct ObservingFlow: Command {
    let name: String

    func run(in context: CommandContext) async throws -> Int {
        context.begin("observe", total: 5)
        var count = 0
        return try await context.resuming {
            _ = try await context.read(PlannedPeripheral.readable)
            try await context.subscribe(to: PlannedPeripheral.notifying)
            defer { context.unsubscribe(from: PlannedPeripheral.notifying) }
            while count < 5 {
                _ = try await context.value(timeout: .seconds(60))
                count += 1
                context.achieved()
                context.progress(count)
            }
            return count
        }
    }
}

/// What takes the firmware of a peripheral that can be updated.
struct FirmwareReceivers: Sendable {
    let plain = PlainFirmwareReceiver(model: 7, capacity: 10_000, window: 1024)
    let mcumgr = MCUmgrFirmwareReceiver(running: Self.octets(of: 1), capacity: 10_000, bufferCount: 3)

    /// The firmware that all programs have for it.
    static func firmware() throws -> FirmwareImage { try FirmwareImage(octets(of: 2)) }

    /// An image for MCUboot.
    static func octets(of version: UInt8) -> [UInt8] {
        let size = version == 1 ? 100 : 1500
        var octets: [UInt8] = [0x3D, 0xB8, 0xF3, 0x96, 0, 0, 0, 0, 32, 0, 0, 0]
        octets += [UInt8(truncatingIfNeeded: size), UInt8(size >> 8), 0, 0] + [0, 0, 0, 0, 1, 0, version, 0]
        octets += [UInt8](repeating: 0, count: 8) + (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ version }
        return octets + [0x07, 0x69, 40, 0, 0x10, 0, 32, 0] + [UInt8](repeating: version, count: 32)
    }

    var services: [LocalService] { [mcumgr.service, plain.service] }

    func run(on server: PeripheralServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await mcumgr.run(on: server) }
            group.addTask { try await plain.run(on: server) }
            try await group.waitForAll()
        }
    }

    /// Whether all that it has, or runs, is firmware that somebody gave it.
    var isWhole: Bool {
        let (old, new) = (Self.octets(of: 1), Self.octets(of: 2))
        return [old, new].contains(mcumgr.runningImage) && (plain.image ?? new) == new
    }

    /// Whether it has what an update has brought.
    func has(_ flow: PlannedFlow) -> Bool {
        switch flow {
        case .observes, .configures, .synchronizes, .pairs: true
        case .updatesPlainly: plain.image == Self.octets(of: 2)
        case .updatesByMCUmgr: mcumgr.runningImage == Self.octets(of: 2)
        }
    }
}

/// The steps that run flows, each in the place of the one before.
extension World {
    func runFlows(
        _ number: Int,
        _ flows: [PlannedFlow],
        _ pause: Duration,
        isRetried: Bool,
        _ name: String,
        of central: Int
    ) async throws {
        let route = AirWatch.Route(central: central, peripheral: number, channel: .notified)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        watch.commandsBegan(central, number)
        defer { watch.commandsEnded(central, number, at: time.now) }
        try await peripheral(number, of: central).withQueue { queue in
            let connecting = queue.connecting(timeout: .seconds(20), then: .disconnectWhenIdle(.seconds(3)))
            let queue = isRetried ? connecting.retrying(.exponential(attempts: 3)) : connecting
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (place, flow) in flows.enumerated() {
                    group.addTask {
                        try await self.time.sleep(for: pause * place)
                        // Those that begin at once begin in any order; jobs may run late by as much, too.
                        let isLast = place == flows.count - 1 && pause > .milliseconds(100)
                        try await self.run(flow, "\(name).\(place)", number, isLast: isLast, queue)
                    }
                }
                try await group.waitForAll()
            }
            if let active = queue.activeFlow { self.report("\(name): \(active) is active behind its end", "left") }
        }
    }

    private func run(
        _ flow: PlannedFlow,
        _ name: String,
        _ number: Int,
        isLast: Bool,
        _ queue: CommandQueue
    ) async throws {
        log("\(name): \(flow.rawValue)")
        do {
            switch flow {
            case .observes:
                let count = try await queue.run(ObservingFlow(name: name), replacing: .activeFlow)
                if count != 5 { report("\(name): a flow returns \(count)", "flow") }
            case .updatesPlainly:
                let update = FirmwareUpdateFlow(try FirmwareReceivers.firmware(), over: .plain())
                try await queue.run(update, replacing: .activeFlow)
            case .updatesByMCUmgr:
                let update = FirmwareUpdateFlow(try FirmwareReceivers.firmware(), over: .mcumgr())
                try await queue.run(update, replacing: .activeFlow)
            case .configures:
                let settings = ConfigurationFlow([.init(PlannedPeripheral.readable, [4, 5])])
                for former in try await queue.run(settings, replacing: .activeFlow) where former.value != [1, 2, 3] {
                    if !plan.altersValues { report("\(name): \(former) was never set", "flow") }
                }
            case .synchronizes: try await synchronize(name, queue)
            case .pairs:
                let pairing = PairingFlow(reading: PlannedPeripheral.secret)
                let outcome = try await queue.run(pairing, replacing: .activeFlow)
                if Array(outcome.value) != PlannedPeripheral.secretValue, !plan.altersValues {
                    report("\(name): pairing reads \(outcome.value.count) octets that nobody wrote", "flow")
                }
            }
            reached("\(flow.rawValue): done")
            if !plan.altersValues, let receivers = receivers(of: number), !receivers.has(flow) {
                report("\(name): \(flow.rawValue) is done, and the device doesn't have it", "firmware")
            }
        } catch let error as BLEError {
            log("\(name): \(flow.rawValue) fails: \(error)")
            reached("\(flow.rawValue): \(error.code)")
            check(error, of: name)
            if isLast, error.code == .ended, error.cause.contains("taken its place") {
                report("\(name): nothing came behind it, and it fails: \(error)", "flow")
            }
        }
    }

    /// Stores all records: each once, in order, as the device has them.
    private func synchronize(_ name: String, _ queue: CommandQueue) async throws {
        let stored = Mutex<[DeviceRecord]>([])
        let flow = SynchronizationFlow(over: PlannedRecords.transport, after: nil, batch: 16) { record in
            stored.withLock { $0.append(record) }
        }
        let count = try await queue.run(flow, replacing: .activeFlow)
        if plan.altersValues { return }
        let expected = (0..<PlannedRecords.count).map { PlannedRecords.record($0) }
        let records = stored.withLock { $0 }
        if count != expected.count || records != expected {
            report("\(name): \(count) records are stored, of \(expected.count): \(records.map(\.number))", "records")
        }
    }

    // MARK: - Typed values

    func followTyped(_ number: Int, _ manner: Manner, _ name: String, of central: Int) async throws {
        let route = AirWatch.Route(central: central, peripheral: number, channel: .notified)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        let values = peripheral(number, of: central).stream(timeout: .seconds(20)) { link in
            link.notifications(of: NumberedKey())
        }
        let consumer = Consumer(self, central: central, name, .order)
        var count = 0
        for try await value in values.retry() {
            if let value { consumer.take(value.octets) }
            count += 1
            if count >= manner.count { return }
            try await time.sleep(for: manner.pace)
        }
    }
}

/// The characteristic whose values are numbers; `nil` for octets that are none, which a fault has made.
private struct NumberedKey: CharacteristicKey {
    var reference: CharacteristicReference { .uuid(PlannedPeripheral.notifying, in: PlannedPeripheral.service) }

    func value(of octets: CharacteristicValue) throws -> NumberedValue? { NumberedValue(octets) }

    func octets(of value: NumberedValue?) throws -> [UInt8] { value?.octets ?? [] }
}
