import BLESimulator
import BLEStreams

/// The steps that watch: who is near, and how things are.
extension World {
    func scan(_ manner: Manner, _ name: String, of number: Int) async throws {
        var count = 0
        for try await _ in central(number).scan(for: .service(PlannedPeripheral.service), duplicates: true) {
            count += 1
            if count >= manner.count { return }
            try await time.sleep(for: manner.pace)
        }
        report("\(name): a scan ends by itself", "ended")
    }

    /// Each enters, is seen again, and leaves, in this order.
    func watchPresence(_ manner: Manner, _ name: String, of number: Int) async throws {
        var present: Set<BluetoothAddress> = []
        var count = 0
        let scan = central(number).scan(for: .service(PlannedPeripheral.service), duplicates: true)
        for try await event in scan.retry().presence(timeout: .seconds(10)) {
            let address = event.key
            switch event {
            case .enter:
                if !present.insert(address).inserted { report("\(name): \(address) enters twice", "presence") }
            case .update:
                if !present.contains(address) { report("\(name): \(address) is there and never came", "presence") }
            case .leave:
                if present.remove(address) == nil { report("\(name): \(address) leaves and was away", "presence") }
                reached("somebody leaves")
            }
            count += 1
            if count >= manner.count { return }
            try await time.sleep(for: manner.pace)
        }
        report("\(name): a presence ends by itself", "ended")
    }

    /// A state is told once, and follows one from which it can be reached.
    func observe(_ number: Int, _ manner: Manner, _ name: String, of central: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var last: Peripheral.ConnectionState?
                for try await state in self.peripheral(number, of: central).connectionStates {
                    if let last, !Self.isLegal(last, state) {
                        self.report("\(name): the connection is \(state) behind \(last)", "state")
                    }
                    self.reached("connection: \(state)")
                    last = state
                }
                self.report("\(name): connection states end by themselves", "ended")
            }
            group.addTask {
                var last: AdapterInfo.State?
                for try await state in self.central(central).adapterStates {
                    if state == last { self.report("\(name): the adapter is \(state) twice", "state") }
                    last = state
                }
                self.report("\(name): adapter states end by themselves", "ended")
            }
            group.addTask { try await self.time.sleep(for: manner.patience) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func isLegal(_ last: Peripheral.ConnectionState, _ next: Peripheral.ConnectionState) -> Bool {
        switch (last, next) {
        // A link may be given up while its MTU is being negotiated.
        case (.disconnected, .connecting), (.connecting, .connected), (.connecting, .disconnected),
            (.connecting, .disconnecting), (.connected, .disconnecting), (.connected, .disconnected),
            (.disconnecting, .disconnected):
            true
        default: false
        }
    }
}
