import BLESimulator
import Testing

@testable import BLEStreams

extension Acceptance {
    /// One machine for each connection: its states in three families, its failures, and how each ends.
    @Suite("Hierarchical machine", .timeLimit(.minutes(10))) struct HierarchicalMachine {
        private static let service = BluetoothUUID(0xA000)

        private static func plan(_ characteristic: BluetoothUUID = Bench.notifying) -> Session.Plan {
            var plan = Session.Plan(finding: .service(service)).subscribing(to: characteristic)
            plan.reconnecting = nil
            plan.limits.search = .seconds(20)
            return plan
        }

        @Test func `the states are in three families`() {
            let families = Dictionary(grouping: SessionState.Kind.allCases, by: \.phase)
            #expect(
                families[.disconnected] == [.initial, .scanning, .discovered, .connecting, .waitingToReconnect]
            )
            #expect(
                families[.connected] == [
                    .idle, .discoveringServices, .servicesReady, .discoveringCharacteristics, .discoveredCharacteristic,
                    .reading, .writing, .subscribing, .notificationsEnabled, .ready,
                ]
            )
            #expect(families[.failed] == [.failed])
        }

        @Test func `a session goes from initial to ready, step by step`() async throws {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                try await bench.central.withSession(Self.plan()) { session in
                    let kinds = try await session.states.map(\.state.kind).take(until: { $0 == .ready }).collect()
                    #expect(
                        kinds == [
                            .initial, .scanning, .discovered, .connecting, .idle, .discoveringServices, .servicesReady,
                            .discoveringCharacteristics, .discoveredCharacteristic, .subscribing, .notificationsEnabled,
                            .ready,
                        ]
                    )
                }
            }
        }

        @Test func `a trigger that a state doesn't accept is an error that names both, and changes nothing`() {
            var machine = ConnectionMachine()
            #expect {
                try machine.handle(.subscribe)
            } throws: { error in
                let illegal = error as? SessionState.IllegalTrigger
                return illegal?.state.kind == .initial && illegal?.trigger.kind == .subscribe
                    && "\(error)".contains("initial") && "\(error)".contains("subscribe")
            }
            #expect(machine.state == .disconnected(.initial))
        }

        @Test func `every state can fail, and only a reset leaves failed, back to initial`() {
            let reachesFailed = Set(ConnectionMachine.rules.filter { $0.to == .failed }.map(\.from))
            for kind in SessionState.Kind.allCases where kind != .failed {
                // Heard and not connected to yet: the attempt that follows at once can fail.
                #expect(reachesFailed.contains(kind) || kind == .discovered, "\(kind)")
            }
            let ways = ConnectionMachine.rules.filter { $0.from == .failed }
            #expect(ways.map(\.trigger) == [.reset] && ways.map(\.to) == [.initial])
        }

        /// What can go wrong, and how the session says so.
        enum Trouble: String, CaseIterable, Sendable {
            case adapterOff, scanTimeout, connectTimeout, lostWhileConnecting, discoveryRefused, serviceMissing
            case characteristicMissing, propertyMissing, lostWhenReady

            var code: BLEError.Code {
                switch self {
                case .adapterOff: .adapterPoweredOff
                case .scanTimeout, .connectTimeout: .timedOut
                case .lostWhileConnecting: .connectionFailed
                case .discoveryRefused: .attributeError
                case .serviceMissing, .characteristicMissing: .notFound
                case .propertyMissing: .notSupported
                case .lostWhenReady: .disconnected
                }
            }

            func makePlan() -> Session.Plan {
                var plan =
                    switch self {
                    case .characteristicMissing: HierarchicalMachine.plan(BluetoothUUID(0xA0FF))
                    case .propertyMissing: HierarchicalMachine.plan(Bench.readOnly)
                    default: HierarchicalMachine.plan()
                    }
                if self == .serviceMissing { plan.requiredServices = [.heartRate] }
                return plan
            }

            func make(_ bench: Bench) {
                let faults = bench.air.faults
                switch self {
                case .adapterOff: bench.centralAdapter.powerOff()
                case .scanTimeout: faults.add(.outOfRange(lasting: .seconds(100)), on: bench.peripheralAdapter)
                case .connectTimeout: faults.add(.ignoreConnections)
                case .lostWhileConnecting: faults.add(.refuseConnections(1000))
                case .discoveryRefused:
                    faults.add(.replace(.opcode(0x11)) { _ in [0x01, 0x10, 0x01, 0x00, 0x0E] })
                case .lostWhenReady: faults.add(.dropLink(after: 3, .notifications))
                case .serviceMissing, .characteristicMissing, .propertyMissing: break
                }
            }
        }

        @Test(arguments: Trouble.allCases) func `a session that may not try again fails with the cause`(
            trouble: Trouble
        ) async throws {
            try await Bench.run(serve: Bench.sendForEver) { bench in
                trouble.make(bench)
                try await bench.central.withSession(trouble.makePlan()) { session in
                    let thrown = await bleError { for try await _ in session.values {} }
                    guard case .failed(let error) = session.state else {
                        Issue.record("\(session.state)")
                        return
                    }
                    #expect(error.code == trouble.code && thrown?.code == error.code, "\(error)")
                    #expect(!error.remedy.isEmpty)
                    try session.reset()
                    #expect(session.state.kind == .initial)
                }
            }
        }
    }
}
