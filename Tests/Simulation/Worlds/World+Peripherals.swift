import BLEDevices
import BLESimulator
import BLEStreams

/// What the peripherals of a world do.
extension World {
    /// Serves until it is cancelled.
    func serve(_ planned: PlannedPeripheral) async throws {
        guard let adapter = adapter(of: planned.number) else { return }
        while true {
            do {
                let warning: PeerStore.Warning = { [weak self] in self?.log("p\(planned.number) is told: \($0)") }
                let local = planned.local(receivers(of: planned.number))
                try await local.run(on: .radio(adapter), store: store(of: planned.number), warning: warning) { server in
                    try await self.live(planned, server)
                }
            } catch let error as BLEError {
                log("p\(planned.number) stops: \(error)")
                check(error, of: "p\(planned.number)")
            }
            try Task.checkCancellation()
            try await time.sleep(for: .seconds(5))
        }
    }

    private func live(_ planned: PlannedPeripheral, _ server: PeripheralServer) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.send(planned, server) }
            group.addTask {
                for try await message in server.messages(to: PlannedPeripheral.inbound) {
                    if message.octets != planned.message, !self.plan.altersMessages {
                        self.report("p\(planned.number) gets another message than was sent", "message")
                    }
                }
            }
            group.addTask {
                for try await change in server.subscriptions(of: PlannedPeripheral.outbound) where change.isSubscribed {
                    try? await server.send(planned.message, of: PlannedPeripheral.outbound, to: change.central)
                }
            }
            group.addTask {
                let serial = SerialService.nordicUART
                for try await line in server.messages(to: serial.outgoing, endingWith: .delimiter("\n")) {
                    let bytes = server.bytes(of: serial, with: line.central)
                    try? await bytes.write(line.octets + Array("\n".utf8))
                }
            }
            group.addTask { try await PlannedRecords.serve(server) }
            if let receivers = receivers(of: planned.number) { group.addTask { try await receivers.run(on: server) } }
            // One that restarts leaves by itself.
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func send(_ planned: PlannedPeripheral, _ server: PeripheralServer) async throws {
        var isMoved = false
        for round in 1... {
            try await time.sleep(for: planned.interval)
            switch planned.habit {
            case .notifies, .restarts, .changes:
                try await notify(planned, server)
            case .bursts:
                if round % 10 == 0 { for _ in 0..<40 { try await notify(planned, server) } }
            case .paces:
                let value = next(of: planned.number, .notified)
                _ = try? server.notify(value.octets, of: PlannedPeripheral.notifying, buffer: .newest(2))
            case .indicates: break
            }
            if planned.habit == .indicates || round % 8 == 0 {
                let value = next(of: planned.number, .indicated)
                _ = try? await server.indicate(value.octets, of: PlannedPeripheral.indicating)
            }
            if planned.habit == .changes, round % 50 == 0 {
                isMoved.toggle()
                log("p\(planned.number) moves its services")
                reached("services moved")
                _ = try? server.replaceServices(planned.services(isMoved: isMoved, receivers(of: planned.number)))
            }
            if planned.habit == .restarts, round % 100 == 0 { return }
        }
    }

    private func notify(_ planned: PlannedPeripheral, _ server: PeripheralServer) async throws {
        try Task.checkCancellation()
        let value = next(of: planned.number, .notified)
        _ = try? await server.notify(value.octets, of: PlannedPeripheral.notifying)
    }
}

extension WorldPlan {
    /// Whether values may come otherwise than they were sent, though all is done as it should be.
    var altersValues: Bool {
        altersMessages || faults.contains { if case .overflows = $0.kind { true } else { false } }
    }

    /// Whether a message may come otherwise than it was sent: what the kernel drops is told, and fails it.
    var altersMessages: Bool {
        faults.contains { fault in
            switch fault.kind {
            case .corrupts, .duplicates, .delays, .holds, .swallows, .refuses: true
            default: false
            }
        }
    }
}
