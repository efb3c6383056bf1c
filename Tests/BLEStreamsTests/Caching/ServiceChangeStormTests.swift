import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Peers that say again and again that their services have changed.
@Suite(.timeLimit(.minutes(10))) struct ServiceChangeStormTests {
    private func withPeer(
        _ peer: StormyPeer,
        _ body: @escaping @Sendable (Link, ScriptedLink, VirtualTime) async throws -> Void
    ) async throws {
        try await VirtualTime.run { time in
            let scripted = ScriptedLink(time, peer.answers)
            let central = try await Central.open(.radio(ScriptedRadio(time, [scripted])))
            try await central.peripheral(scripted.peer).withLink { link in try await body(link, scripted, time) }
        }
    }

    @Test(arguments: [StormyPeer.Hash.none, .same], [[4], [4, 10]] as [[UInt8]])
    func `Service Changed on each write of a descriptor ends when nothing has changed`(
        hash: StormyPeer.Hash,
        touchy: [UInt8]
    ) async throws {
        try await withPeer(StormyPeer(hash, touchy: touchy)) { link, peer, time in
            let database = try await link.discover()
            #expect(database.services.count == 2)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await _ in link.notifications(of: Bench.notifying) {} }
                try await watch(link, peer, time)
                group.cancelAll()
                while await group.nextResult() != nil {}
            }
        }
    }

    private func watch(_ link: Link, _ peer: ScriptedLink, _ time: VirtualTime) async throws {
        try await time.sleep(for: .seconds(2))
        let afterTwoSeconds = peer.sent.count
        #expect(afterTwoSeconds < 60, "\(afterTwoSeconds) PDUs")
        try await time.sleep(for: .seconds(300))
        // Long quiet, all is as it was, and used without a question.
        #expect(peer.sent.count == afterTwoSeconds)
        try await link.expect(Bench.notifying, reads: [42])
        #expect(peer.sent.count == afterTwoSeconds + 1)
    }

    @Test func `a peer that says once more that it has changed is used as it is now, not as it was`() async throws {
        try await withPeer(StormyPeer(.same, moves: true)) { link, peer, time in
            let before = try await link.discover()
            #expect(before.characteristic(Bench.notifying)?.valueHandle == 9)
            // It counts as calm again, so that Service Changed is subscribed to once more behind the change.
            try await time.sleep(for: .seconds(120))
            try await link.write([1], to: .handle(9))
            try await time.sleep(for: .seconds(2))
            let after = try await link.discover()
            #expect(after.characteristic(Bench.notifying)?.valueHandle == 11)
            try await link.expect(Bench.notifying, reads: [42])
            #expect(peer.sent.contains([0x0A, 11, 0]) && !peer.sent.contains([0x0A, 9, 0]))
        }
    }

    @Test func `a peer that is another one each time is looked at less and less often`() async throws {
        try await withPeer(StormyPeer(.alwaysAnother)) { link, peer, time in
            _ = try await link.discover()
            try await time.sleep(for: .seconds(2))
            #expect(peer.sent.count < 200, "\(peer.sent.count) PDUs")
            try await time.sleep(for: .seconds(600))
            #expect(peer.sent.count < 1000, "\(peer.sent.count) PDUs")
            // It can be used in between.
            let value = try await link.read(Bench.notifying, timeout: .seconds(60))
            #expect(Array(value) == [42])
        }
    }

    /// Offers another service twice a second, before all can be discovered, until it is told to stop.
    private static func changing(until end: Flag) -> @Sendable (PeripheralServer, Bench) async throws -> Void {
        { server, bench in
            for round in UInt16(0)..<2000 {
                try await bench.time.sleep(for: .milliseconds(500))
                if end.isSet { break }
                let other = LocalService(BluetoothUUID(0xB000 + round % 100)) {
                    LocalCharacteristic(BluetoothUUID(0xB001), [.read])
                }
                try server.replaceServices(Bench.description.services + [other])
            }
            for try await _ in server.centralEvents {}
        }
    }

    @Test func `a call is told that a peer changes too fast to be discovered, and the next one finds it at rest`()
        async throws
    {
        let end = Flag()
        try await Bench.run(serve: Self.changing(until: end)) { bench in
            try await bench.peripheral.withLink { link in
                let calls: [@Sendable () async throws -> Void] = [
                    { _ = try await link.read(Bench.readOnly) }, { _ = try await link.discover() },
                    { _ = try await link.notifications(of: Bench.notifying).first() },
                ]
                for call in calls {
                    let begin = bench.time.now
                    let error = await bleError(call)
                    #expect(error?.code == .servicesChanged && error?.isFinal == false)
                    #expect(error?.description.contains("before they can be discovered") == true, "\(error as Any)")
                    #expect(bench.time.now - begin < .seconds(120))
                }
                end.set()
                try await link.expect(Bench.readOnly, reads: [7])
            }
        }
    }
}
