import BLEDevices
import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

@testable import BLEStreamsTests

/// An update in a queue with what belongs before and behind it, in the eyes of a capture.
@Suite(.timeLimit(.minutes(10))) struct QueuedUpdateTests {
    private static let key = BluetoothUUID(0xFFF7)

    private struct Handles: Sendable {
        var battery: UInt16
        var key: UInt16
        /// All that belong to the services of the update.
        var update: Set<UInt16>
    }

    /// The device of the other tests, with a characteristic to be let in by.
    private static func locked(_ device: UpdateDevice) -> LocalPeripheral {
        var description = device.description
        description.services.append(
            LocalService(BluetoothUUID(0xFFF0)) { LocalCharacteristic(key, [.write], value: .stored([])) }
        )
        return description
    }

    @Test(arguments: [0, 1])
    func `connect, authorize, update and disconnect are queued, and a read from elsewhere comes behind the update`(
        method: Int
    ) async throws {
        let (device, image) = (UpdateDevice(), try UpdateDevice.firmware(30_000))
        let update = FirmwareUpdateFlow(
            image,
            over: method == 0 ? .plain() : .mcumgr(FirmwareUpdateFlow.MCUmgrOptions(mode: .upload))
        )
        let found = Recorder<Handles>()
        var file: [BTSnoopRecord] = []
        try await withCapture { capture, path in
            try await Bench.run(
                description: Self.locked(device),
                serve: { try await device.live($0, $1) },
                { bench in
                    let central = try await Central.open(.radio(bench.centralAdapter).captured(in: capture))
                    try await central.peripheral(bench.peripheralAdapter.address).withQueue { queue in
                        try await withThrowingTaskGroup(of: Void.self) { group in
                            group.addTask { try await queue.run(.connect) }
                            try await bench.time.sleep(for: .milliseconds(1))
                            group.addTask { try await queue.run(.authorize { try await $0.write([1], to: Self.key) }) }
                            try await bench.time.sleep(for: .milliseconds(1))
                            group.addTask { try await queue.run(update) }
                            try await bench.time.sleep(for: .milliseconds(1))
                            group.addTask { try await queue.run(.disconnect) }
                            group.addTask {
                                _ = try await queue.contents.first { ($0.running?.progress?.completed ?? 0) > 0 }
                                let link = try #require(queue.link)
                                let known = try await link.discover()
                                let battery = try #require(known.characteristic(UpdateDevice.battery)).valueHandle
                                let key = try #require(known.characteristic(Self.key)).valueHandle
                                let own = known.services.filter {
                                    [device.plain.service.uuid, device.mcumgr.service.uuid].contains($0.uuid)
                                }
                                let update = Set(own.flatMap { Array($0.handle...$0.endHandle) })
                                found.add(Handles(battery: battery, key: key, update: update))
                                let level = try await link.read(UpdateDevice.battery)
                                #expect(Array(level) == [87])
                            }
                            try await group.waitForAll()
                        }
                        #expect(queue.link == nil)
                    }
                }
            )
            try await capture.close()
            file = try records(of: path)
        }
        let sent = file.compactMap { Packet($0) }.filter(\.isSent).map(\.pdu)
        let handles = try #require(found.all.first)
        let first = try #require(sent.firstIndex { $0.first == 0x52 })
        let last = try #require(sent.lastIndex { $0.first == 0x52 })
        #expect(last - first > 50)
        let foreign = sent[first...last].filter { !handles.update.contains(Self.handle(in: $0)) }
        #expect(foreign.isEmpty, "\(foreign)")
        let admission = try #require(sent.firstIndex { $0.first == 0x12 && Self.handle(in: $0) == handles.key })
        let reading = try #require(sent.firstIndex { $0.first == 0x0A && Self.handle(in: $0) == handles.battery })
        #expect(admission < first && reading > last)
    }

    /// The handle that a request or command begins with.
    private static func handle(in pdu: [UInt8]) -> UInt16 {
        pdu.count < 3 ? 0 : UInt16(pdu[1]) | UInt16(pdu[2]) << 8
    }
}
