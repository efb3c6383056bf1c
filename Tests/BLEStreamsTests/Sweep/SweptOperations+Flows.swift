import BLEDevices
import BLESimulator

@testable import BLEStreams

extension SweptOperation {
    private static let read = CommandBlock.read(Bench.readable)

    /// Commands, and the flows that are made of them.
    static let ofFlows: [SweptOperation] = [
        SweptOperation("a command in a queue", within: .seconds(100)) { world in
            try await world.peripheral.withQueue { queue in
                try await Array(queue.connecting().run(read)).description
            }
        },
        SweptOperation("a command that is retried, within a limit", within: .seconds(130)) { world in
            try await world.peripheral.withQueue { queue in
                let queue = queue.timingOut(after: .seconds(120)).connecting().retrying()
                return try await Array(queue.run(read)).description
            }
        },
        SweptOperation("two commands, the link kept between them", within: .seconds(300)) { world in
            try await world.peripheral.withQueue { queue in
                let queue = queue.connecting().retrying(.exponential(attempts: 2))
                let other = queue.enqueue(.read(Bench.readOnly))
                let value = try await Array(queue.run(read))
                return try await (value + Array(other.value)).description
            }
        },
        flow("synchronization, by plain records", site: records) { queue, _ in
            let log = Recorder<Int>()
            return try await "\(queue.run(FlowTests.synchronization(0, after: 195, log)))"
        },
        flow("synchronization, by a control point", site: records) { queue, _ in
            let log = Recorder<Int>()
            return try await "\(queue.run(FlowTests.synchronization(1, after: 195, log)))"
        },
        flow("configuration", site: records) { queue, _ in
            try await "\(queue.run(ConfigurationFlow(Array(FlowTests.wishes.prefix(2)))).count)"
        },
        flow("firmware, by the plain protocol", site: firmware) { queue, _ in
            try await queue.run(FirmwareUpdateFlow(try UpdateDevice.firmware(900), over: .plain()))
            return "done"
        },
        flow("firmware, by MCUmgr", site: firmware) { queue, _ in
            try await queue.run(FirmwareUpdateFlow(try UpdateDevice.firmware(900), over: .mcumgr()))
            return "done"
        },
        flow("pairing", within: .seconds(120)) { queue, _ in
            try await Array(queue.run(PairingFlow(reading: SweepSite.secret)).value).description
        },
        SweptOperation("pairing with whoever is found", within: .seconds(120)) { world in
            let flow = PairingFlow(reading: SweepSite.secret)
            let outcome = try await world.central.pair(with: .service(BluetoothUUID(0xA000)), by: flow)
            return Array(outcome.value).description
        },
    ]

    private static func flow(
        _ name: String,
        within deadline: Duration = .seconds(1800),
        site: @escaping @Sendable () -> SweepSite = SweepSite.basic,
        _ body: @escaping @Sendable (CommandQueue, SweepWorld) async throws -> String
    ) -> SweptOperation {
        SweptOperation(name, within: deadline, site: site) { world in
            try await world.peripheral.withQueue { try await body($0.connecting(), world) }
        }
    }

    private static let records: @Sendable () -> SweepSite = {
        SweepSite(
            RecordDevice.description,
            known: (RecordDevice.setting[0], nil),
            notifying: [RecordDevice.records, RecordDevice.glucose, RecordDevice.controlPoint]
        ) { server, bench, _ in try await RecordDevice.live(Recorder())(server, bench) }
    }

    private static let firmware: @Sendable () -> SweepSite = {
        let device = UpdateDevice()
        return SweepSite(device.description, known: (UpdateDevice.battery, nil), notifying: []) { server, bench, _ in
            try await device.live(server, bench)
        }
    }
}
