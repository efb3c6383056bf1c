import BLEProtocol
import BLERadio
import BLESimulator
import Testing

/// A read request for a handle.
private func read(_ handle: UInt8) -> [UInt8] { [0x0A, handle, 0] }

/// Gives an adapter a key for another one, the same for each.
private func giveKey(of peer: SimulatedAdapter, to adapter: SimulatedAdapter) throws {
    let value = try #require(SecretKey(octets: Array(repeating: 7, count: 16)))
    let key = Bond.EncryptionKey(kind: 2, initiator: 0, size: 16, diversifier: 0, random: 0, value: value)
    let bond = Bond(peer: peer.address, adapter: adapter.address, encryptionKeys: [key])
    _ = adapter.restore([bond]) { _ in }
}

@Suite(.timeLimit(.minutes(10))) struct SimulatedLinkTests {
    @Test func `PDUs arrive whole, in order and in one batch, in both directions`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let down = (0..<100).map { read($0) }
            let up = (0..<100).map { [0x1B, $0, 0] + Array(repeating: $0, count: Int($0)) } as [[UInt8]]
            for (request, value) in zip(down, up) {
                #expect(pair.centralLink.send(request) == .sent)
                #expect(pair.peripheralLink.send(value) == .sent)
            }
            #expect(pair.atCentral.events.isEmpty && pair.atPeripheral.events.isEmpty)
            try await time.sleep(for: .nanoseconds(1))
            #expect(pair.atPeripheral.events == [.received(down)])
            #expect(pair.atCentral.events == [.received(up)])
        }
    }

    @Test func `receivers are never called from inside send`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let depth = Log<Int>()
            let link = pair.centralLink
            // Answers each PDU from inside the call, a thousand times over: a nested call would show in the order.
            let other = pair.air.adapter()
            let accepted = Log<any ATTLink>()
            let echo = LinkRecorder { event in
                if case .received(let pdus) = event, let pdu = pdus.first, let peer = accepted.values.first {
                    depth.append(1)
                    if depth.values.count < 2000 { _ = peer.send(pdu) }
                    depth.append(-1)
                }
            }
            let listener = other.listen { if case .accepted(let link) = $0 { accepted.append(link) } }
            let advertisement = other.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
            let made = Log<any ATTLink>()
            let attempt = pair.central.connect(to: other.address) {
                if case .success(let link) = $0 { made.append(link) }
            }
            try await time.sleep(for: .seconds(1))
            let far = try #require(accepted.values.first)
            let near = try #require(made.values.first)
            far.start(echo)
            near.start(LinkRecorder { if case .received(let pdus) = $0 { _ = near.send(pdus[0]) } })
            #expect(near.send(read(1)) == .sent)
            try await time.sleep(for: .seconds(1))
            #expect(depth.values.count >= 2000)
            #expect(zip(depth.values, 0...).allSatisfy { $0 == ($1 % 2 == 0 ? 1 : -1) })
            // Its receivers have the link, and so the air, for as long as it is up.
            near.disconnect()
            try await time.sleep(for: .seconds(1))
            withExtendedLifetime((link, listener, advertisement, attempt)) {}
        }
    }

    @Test func `PDUs that come before start wait for it, and beyond the buffer are counted`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let settings = AdapterSettings(linkTiming: .immediate, receiveBufferCount: 10)
            let (phone, sensor) = (air.adapter(settings: settings), air.adapter(settings: settings))
            let accepted = Log<any ATTLink>()
            let listener = sensor.listen { if case .accepted(let link) = $0 { accepted.append(link) } }
            let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
            let made = Log<any ATTLink>()
            let attempt = phone.connect(to: sensor.address) { if case .success(let link) = $0 { made.append(link) } }
            try await time.sleep(for: .seconds(1))
            let near = try #require(made.values.first)
            near.start(LinkRecorder())
            for number in 0..<15 as Range<UInt8> { #expect(near.send(read(number)) == .sent) }
            try await time.sleep(for: .seconds(1))
            near.disconnect()
            try await time.sleep(for: .seconds(1))
            let recorder = LinkRecorder()
            accepted.values.first?.start(recorder)
            #expect(recorder.events.isEmpty)
            try await time.sleep(for: .seconds(1))
            #expect(
                recorder.events == [
                    .received((0..<10).map { read($0) }), .dropped(5), .ended(DisconnectReason(.closedByPeer)),
                ]
            )
            withExtendedLifetime((listener, advertisement, attempt)) {}
        }
    }

    @Test func `what was sent before disconnecting arrives, and each side hears who closed`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            for number in 0..<5 as Range<UInt8> { #expect(pair.centralLink.send(read(number)) == .sent) }
            pair.centralLink.disconnect()
            pair.centralLink.disconnect()
            #expect(pair.centralLink.send(read(9)) == .ended)
            #expect(pair.atCentral.events.isEmpty)
            try await time.sleep(for: .seconds(1))
            #expect(
                pair.atPeripheral.events
                    == [.received((0..<5).map { read($0) }), .ended(DisconnectReason(.closedByPeer))]
            )
            #expect(pair.atCentral.events == [.ended(DisconnectReason(.closedLocally))])
            #expect(pair.peripheralLink.send([0x1B, 3, 0]) == .ended)
            #expect(pair.central.activity.isIdle)
        }
    }

    @Test func `who waits for a link to be encrypted, or asks too late, is told of its end and not of its keys`()
        async throws
    {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: .linux))
            let outcomes = Log<Result<Void, BLEError>>()
            pair.centralLink.encrypt { outcomes.append($0) }
            pair.central.powerOff()
            try await time.sleep(for: .seconds(1))
            pair.centralLink.encrypt { outcomes.append($0) }
            try await time.sleep(for: .seconds(1))
            let failures = outcomes.values.compactMap { if case .failure(let error) = $0 { error } else { nil } }
            #expect(failures.map(\.code) == [.disconnected, .disconnected])
            #expect(failures.first?.reason?.kind == .adapterOff)
            #expect(failures.allSatisfy { !$0.isFinal && !$0.remedy.isEmpty })
        }
    }

    @Test func `the peripheral may close too, and both may at once`() async throws {
        try await VirtualTime.run { time in
            let first = try await Conversation(time)
            first.peripheralLink.disconnect()
            try await time.sleep(for: .seconds(1))
            #expect(first.atPeripheral.end == DisconnectReason(.closedLocally))
            #expect(first.atCentral.end == DisconnectReason(.closedByPeer))
            let second = try await Conversation(time)
            second.peripheralLink.disconnect()
            second.centralLink.disconnect()
            try await time.sleep(for: .seconds(1))
            #expect(second.atPeripheral.events == [.ended(DisconnectReason(.closedLocally))])
            #expect(second.atCentral.events == [.ended(DisconnectReason(.closedLocally))])
        }
    }

    @Test func `a full buffer refuses, and says when there is room again`() async throws {
        try await VirtualTime.run { time in
            let settings = AdapterSettings(linkTiming: .linux, sendBufferSize: 56_000)
            let pair = try await Conversation(time, settings: settings)
            let command: [UInt8] = [0x52, 3, 0] + Array(repeating: 7, count: 509)
            var sent = 0
            while pair.centralLink.send(command) == .sent { sent += 1 }
            // As many as on Linux 6.12.
            #expect(sent == 76)
            #expect(pair.centralLink.send(command) == .full)
            try await time.sleep(for: .seconds(10))
            #expect(pair.atCentral.events == [.writable])
            #expect(pair.atPeripheral.pdus == Array(repeating: command, count: 76))
            #expect(pair.centralLink.send(command) == .sent)
        }
    }

    @Test func `out of range a link falls silent and ends by the supervision timeout`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(4))
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            pair.air.setSignal(.outOfRange, between: pair.central, and: pair.peripheral)
            #expect(pair.centralLink.send(read(1)) == .sent)
            try await time.sleep(for: .milliseconds(3900))
            #expect(pair.atPeripheral.events.isEmpty)
            // Back in time: nothing was lost.
            pair.air.setSignal(.dBm(-50), between: pair.central, and: pair.peripheral)
            try await time.sleep(for: .seconds(10))
            #expect(pair.atPeripheral.events == [.received([read(1)])])
            pair.air.defaultSignal = .outOfRange
            try await time.sleep(for: .seconds(10))
            #expect(pair.atCentral.end == nil)
            pair.air.setSignal(.outOfRange, between: pair.central, and: pair.peripheral)
            try await time.sleep(for: .seconds(10))
            #expect(pair.atCentral.end == DisconnectReason(.supervisionTimeout))
            #expect(pair.atPeripheral.end == DisconnectReason(.supervisionTimeout))
        }
    }

    @Test func `a peripheral without the key learns only that the authentication has failed`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            try giveKey(of: pair.peripheral, to: pair.central)
            pair.centralLink.encrypt { _ in }
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.end == DisconnectReason(.keyMissing))
            #expect(pair.atPeripheral.end == DisconnectReason(.authenticationFailed))
        }
    }

    @Test func `encryption and pairing wait while a link is silent, and go on when it no longer is`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(4))
            let settings = AdapterSettings(linkTiming: timing)
            let bonded = try await Conversation(time, settings: settings)
            let unknown = try await Conversation(time, settings: settings)
            try giveKey(of: bonded.peripheral, to: bonded.central)
            try giveKey(of: bonded.central, to: bonded.peripheral)
            let successes = Log<Bool>()
            for pair in [bonded, unknown] { pair.air.faults.add(.outOfRange(lasting: .seconds(2))) }
            bonded.centralLink.encrypt { successes.append((try? $0.get()) != nil) }
            let pairing = unknown.central.pair(with: unknown.peripheral.address, asking: .justWorks) {
                successes.append((try? $0.get()) != nil)
            }
            try await time.sleep(for: .seconds(1))
            #expect(successes.values.isEmpty)
            try await time.sleep(for: .seconds(2))
            #expect(successes.values == [true, true])
            #expect(bonded.centralLink.security.isEncrypted && unknown.centralLink.security.isEncrypted)
            withExtendedLifetime(pairing) {}
        }
    }

    @Test(arguments: [true, false])
    func `a pairing whose link is lost before it can go on fails, whichever end has begun it`(
        _ isCentral: Bool
    ) async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(4))
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            pair.air.faults.add(.outOfRange(lasting: .seconds(10)))
            let near = isCentral ? pair.central : pair.peripheral
            let far = isCentral ? pair.peripheral : pair.central
            let failures = Log<BLEError>()
            let pairing = near.pair(with: far.address, asking: .justWorks) { outcome in
                if case .failure(let error) = outcome { failures.append(error) }
            }
            try await time.sleep(for: .seconds(5))
            #expect(failures.values.map(\.code) == [.disconnected])
            #expect(failures.values.first?.reason?.kind == .supervisionTimeout)
            withExtendedLifetime(pairing) {}
        }
    }

    @Test func `a pairing that is refused while its link is silent fails when it no longer is`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(4))
            let settings = AdapterSettings(linkTiming: timing, pairing: .entersPasskey())
            let pair = try await Conversation(time, settings: settings)
            let refuses = PairingInterview(.displayOnly) { _, reply in reply(.refuse(.refused)) }
            let failures = Log<PairingFailure?>()
            let pairing = pair.central.pair(with: pair.peripheral.address, asking: refuses) { outcome in
                if case .failure(let error) = outcome { failures.append(error.pairingFailure) }
            }
            // The central has refused by then, and the peripheral's user types the first digit.
            try await time.sleep(for: .milliseconds(300))
            pair.air.faults.add(.outOfRange(lasting: .seconds(2)))
            try await time.sleep(for: .seconds(1))
            #expect(failures.values.isEmpty)
            try await time.sleep(for: .seconds(2))
            #expect(failures.values == [.refused])
            withExtendedLifetime(pairing) {}
        }
    }

    @Test func `signal strength of a link is asked for, and unknown when it is over`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let levels = Log<Int8?>()
            pair.air.setSignal(.dBm(-71), between: pair.central, and: pair.peripheral)
            pair.centralLink.readRSSI { levels.append($0) }
            #expect(levels.values.isEmpty)
            try await time.sleep(for: .seconds(1))
            pair.air.setSignal(.unknown, between: pair.central, and: pair.peripheral)
            pair.peripheralLink.readRSSI { levels.append($0) }
            pair.centralLink.disconnect()
            try await time.sleep(for: .seconds(1))
            pair.air.setSignal(.dBm(-71), between: pair.central, and: pair.peripheral)
            pair.centralLink.readRSSI { levels.append($0) }
            try await time.sleep(for: .seconds(1))
            #expect(levels.values == [-71, nil, nil])
        }
    }

    @Test func `a link is as secure as the pair of adapters was made`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            #expect(pair.centralLink.security == .none)
            let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
            pair.air.setSecurity(security, between: pair.peripheral, and: pair.central)
            #expect(pair.centralLink.security == security)
            #expect(pair.peripheralLink.security == security)
            // As it was in the end, once that has been told at both ends.
            pair.centralLink.disconnect()
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.end != nil && pair.atPeripheral.end != nil)
            #expect(pair.centralLink.security == security)
            #expect(pair.peripheralLink.security == security)
        }
    }

    @Test func `a link that is over for both ends can't be raised`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.centralLink.disconnect()
            try await time.sleep(for: .seconds(1))
            let failures = Log<BLEError>()
            let raising = pair.centralLink.raise(to: .authenticated, asking: .justWorks) { outcome in
                if case .failure(let error) = outcome { failures.append(error) }
            }
            try await time.sleep(for: .seconds(1))
            #expect(failures.values.map(\.code) == [.disconnected])
            withExtendedLifetime(raising) {}
        }
    }

    @Test func `who watches the security of a link is told when that of the adapters is set`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let (link, told) = (pair.peripheralLink, Log<LinkSecurity>())
            let watch = link.observeSecurity { told.append(link.security) }
            let security = LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
            for _ in 0..<2 { pair.air.setSecurity(security, between: pair.peripheral, and: pair.central) }
            try await time.sleep(for: .seconds(1))
            #expect(told.values == [security])
            watch.cancel()
        }
    }

    @Test func `a link carries as much as the narrower side can`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: .immediate)) { _, _, sensor in
                sensor.settings.maximumPDUSize = 100
            }
            #expect(pair.centralLink.maximumPDUSize == 100)
            #expect(pair.peripheralLink.maximumPDUSize == 100)
        }
    }
}
