import BLESimulator
import BLEStreams

/// A world from its beginning to its end, and what must hold there.
extension World {
    /// For so long whatever was begun may take to go down: a PDU that is late, a link that is closed in order, a lost
    /// peer.
    private static let settling = Duration.seconds(60)
    /// An adapter that was mended is left alone for ten minutes, by a timer: `RecoveryPlan.rest`.
    private static let recovering = Duration.seconds(800)

    func live() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for planned in plan.peripherals { group.addTask { try await self.serve(planned) } }
            try await time.sleep(for: .seconds(2))
            try await runAll()
            mend()
            try await time.sleep(for: Self.settling)
            inspectCentrals("once everybody has left")
            for planned in plan.peripherals { try await use(planned) }
            try await time.sleep(for: Self.settling)
            inspectCentrals("once it was used again")
            group.cancelAll()
        }
        try await time.sleep(for: Self.recovering)
        inspectCentrals("at the end")
        for planned in plan.peripherals {
            guard let activity = adapter(of: planned.number)?.activity, !activity.isIdle else { continue }
            report("at the end, the adapter of p\(planned.number) has \(activity)", "left")
        }
        for planned in plan.peripherals where !plan.altersValues {
            guard let receivers = receivers(of: planned.number), !receivers.isWhole else { continue }
            report("at the end, p\(planned.number) has firmware that nobody gave it", "firmware")
        }
        if time.timerCount != 0 { report("at the end, there are \(time.timerCount) timers", "left") }
    }

    /// Runs the programs, and what goes wrong meanwhile.
    private func runAll() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await withThrowingTaskGroup(of: Void.self) { lives in
                    for central in 0..<WorldPlan.centrals { lives.addTask { try await self.runPrograms(of: central) } }
                    try await lives.waitForAll()
                }
            }
            group.addTask {
                try await withThrowingTaskGroup(of: Void.self) { faults in
                    for fault in self.plan.faults { faults.addTask { try await self.begin(fault) } }
                    try await faults.waitForAll()
                }
                // Those that have begun go on.
                try await self.time.sleep(for: .seconds(1_000_000))
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Nothing is left of what the centrals did.
    private func inspectCentrals(_ moment: String) {
        for (number, adapter) in centralAdapters.enumerated() where !adapter.activity.isIdle {
            report("\(moment), adapter \(number) of the centrals has \(adapter.activity)", "left")
        }
        for (number, central) in allCentrals {
            for left in central.leftovers { report("\(moment), of central \(number): \(left)", "left") }
        }
    }

    /// Does what any program does: whatever went wrong before, it works now. A peripheral that comes and goes has three
    /// tries.
    private func use(_ planned: PlannedPeripheral) async throws {
        let central = planned.number % WorldPlan.centrals
        let peripheral = peripheral(planned.number, of: central)
        let channel: NumberedValue.Channel = planned.habit == .indicates ? .indicated : .notified
        let route = AirWatch.Route(central: central, peripheral: planned.number, channel: channel)
        watch.began(route)
        defer { watch.ended(route, at: time.now) }
        for attempt in 1... {
            do {
                return try await peripheral.withLink(timeout: .seconds(60)) { link in
                    _ = try await link.read(PlannedPeripheral.readable)
                    let uuid = NumberedValue.uuid(of: channel)
                    _ = try await link.notifications(of: uuid).timeout(planned.interval * 12 + .seconds(5)).first()
                }
            } catch let error as BLEError {
                log("used again: \(error)")
                // A pairing that was broken off may have left keys on one side: the error says what to do.
                if error.remedy.contains("Peripheral.unpair()") { try? await peripheral.unpair() }
                if attempt == 3 { return report("used again, p\(planned.number) fails: \(error)", "used") }
                try await time.sleep(for: .seconds(10))
            }
        }
    }
}
