import BLEProtocol
import BLERadio
import BLESimulator
import Testing

private func notification(_ number: UInt8) -> [UInt8] { [0x1B, 0x05, 0x00, number] }

@Suite(.timeLimit(.minutes(10))) struct LinkFaultTests {
    @Test(arguments: 0..<6)
    func `the link is dropped after n PDUs, and these are delivered first`(count: Int) async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time) { air, _, sensor in
                air.faults.add(.dropLink(after: count, .notifications, reason: .closedByPeer), on: sensor)
            }
            for number in 0..<10 as Range<UInt8> {
                _ = pair.centralLink.send([0x0A, 3, 0])
                _ = pair.peripheralLink.send(notification(number))
            }
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus == (0..<UInt8(count)).map { notification($0) })
            #expect(pair.atCentral.end == DisconnectReason(.closedByPeer))
            #expect(pair.atPeripheral.end == DisconnectReason(.closedByPeer))
            #expect(pair.atCentral.end?.description == pair.atPeripheral.end?.description)
            #expect(pair.central.activity.links.isEmpty)
        }
    }

    @Test func `a loss that is planned for later is forgotten with its link`() async throws {
        try await VirtualTime.run { time in
            let before = time.timerCount
            let pair = try await Conversation(time) { air, _, _ in
                air.faults.add(.loseLinks(every: .seconds(1_000_000)))
                air.faults.add(.dropLink(after: .seconds(3_600)))
            }
            for activity in pair.activities { activity.cancel() }
            pair.centralLink.disconnect()
            try await time.sleep(for: .seconds(60))
            #expect(pair.atPeripheral.end != nil && time.timerCount == before)
        }
    }

    @Test func `after n PDUs counts on each link anew, and strikes once unless told otherwise`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let settings = AdapterSettings(linkTiming: .immediate)
            let (phone, sensor) = (air.adapter(settings: settings), air.adapter(settings: settings))
            air.faults.add(.dropLink(after: 2).times(2))
            let listener = sensor.listen { event in
                guard case .accepted(let link) = event else { return }
                link.start(LinkRecorder())
                for number in 0..<5 as Range<UInt8> { _ = link.send(notification(number)) }
            }
            let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
            for expected in [2, 2, 5] {
                let recorder = LinkRecorder()
                let attempt = phone.connect(to: sensor.address) { result in
                    if case .success(let link) = result { link.start(recorder) }
                }
                try await time.sleep(for: .seconds(1))
                #expect(recorder.pdus.count == expected)
                #expect((recorder.end == nil) == (expected == 5))
                attempt.cancel()
            }
            listener.cancel()
            advertisement.cancel()
        }
    }

    @Test func `the link is dropped instead of a PDU`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.air.faults.add(.dropLink(insteadOf: .writeRequests(to: 0x0011)))
            _ = pair.centralLink.send([0x12, 0x10, 0x00, 1, 0])
            _ = pair.centralLink.send([0x12, 0x11, 0x00, 1, 0])
            _ = pair.centralLink.send([0x0A, 3, 0])
            try await time.sleep(for: .seconds(1))
            #expect(pair.atPeripheral.pdus == [[0x12, 0x10, 0x00, 1, 0]])
            #expect(pair.atCentral.end == DisconnectReason(.supervisionTimeout))
        }
    }

    @Test func `the link is dropped at a time, counted from its beginning or from the rule's`() async throws {
        try await VirtualTime.run { time in
            let planned = try await Conversation(time) { air, _, _ in
                air.faults.add(.dropLink(after: .seconds(10), reason: .keyMissing))
            }
            let standing = try await Conversation(time)
            try await time.sleep(for: .seconds(5))
            standing.air.faults.add(.dropLink(after: .seconds(10)))
            try await time.sleep(for: .milliseconds(5100))
            #expect(planned.atCentral.end == DisconnectReason(.keyMissing))
            #expect(standing.atCentral.end == nil)
            try await time.sleep(for: .seconds(5))
            #expect(standing.atCentral.end == DisconnectReason(.supervisionTimeout))
        }
    }

    @Test func `links are lost at random, about as often as asked, and the same for the same seed`() async throws {
        func lifetimes(seed: UInt64) async throws -> [Duration] {
            try await VirtualTime.run(seed: seed) { time in
                let air = SimulatedAir(time)
                let (phone, sensor) = (air.adapter(), air.adapter())
                air.faults.add(.loseLinks(every: .seconds(60)))
                let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
                let lives = Log<Duration>()
                for _ in 0..<200 {
                    let (ended, signal) = AsyncStream<Void>.makeStream()
                    let began = Log<Duration>()
                    let recorder = LinkRecorder { event in
                        if case .ended = event { signal.finish() }
                    }
                    let attempt = phone.connect(to: sensor.address) { result in
                        began.append(time.now)
                        if case .success(let link) = result { link.start(recorder) }
                    }
                    for await _ in ended {}
                    lives.append(time.now - (began.values.first ?? .zero))
                    attempt.cancel()
                }
                advertisement.cancel()
                return lives.values
            }
        }
        let first = try await lifetimes(seed: 3)
        let mean = first.reduce(.zero, +) / 200
        #expect(mean > .seconds(45) && mean < .seconds(75))
        #expect(Set(first).count > 190)
        #expect(try await lifetimes(seed: 3) == first)
        #expect(try await lifetimes(seed: 4) != first)
    }

    @Test func `out of range is silence, ended by the timeout or by coming back`() async throws {
        try await VirtualTime.run { time in
            let timing = LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(4))
            let pair = try await Conversation(time, settings: AdapterSettings(linkTiming: timing))
            pair.air.faults.add(.outOfRange(after: .seconds(10), lasting: .seconds(3)), on: pair.peripheral)
            let longer = pair.air.faults.add(.outOfRange(after: .seconds(20)), on: pair.peripheral)
            try await time.sleep(for: .seconds(11))
            #expect(!pair.air.signal(between: pair.central, and: pair.peripheral).isInRange)
            _ = pair.peripheralLink.send(notification(1))
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.pdus.isEmpty)
            try await time.sleep(for: .seconds(5))
            #expect(pair.atCentral.pdus == [notification(1)])
            #expect(pair.atCentral.end == nil)
            try await time.sleep(for: .seconds(10))
            #expect(pair.atCentral.end == DisconnectReason(.supervisionTimeout))
            #expect(pair.atPeripheral.end == DisconnectReason(.supervisionTimeout))
            pair.air.faults.remove(longer)
            #expect(pair.air.signal(between: pair.central, and: pair.peripheral).isInRange)
        }
    }
}

@Suite(.timeLimit(.minutes(10))) struct ConnectionFaultTests {
    /// When each of several attempts, one after the other, came to which end.
    private func outcomes(
        _ time: VirtualTime,
        attempts: Int,
        prepare: (SimulatedAir, SimulatedAdapter) -> Void
    ) async throws -> [String] {
        let air = SimulatedAir(time)
        let (phone, sensor) = (air.adapter(), air.adapter())
        prepare(air, sensor)
        let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
        let log = Log<String>()
        for _ in 0..<attempts {
            let began = time.now
            let attempt = phone.connect(to: sensor.address) { result in
                let seconds = (time.now - began).components.seconds
                switch result {
                case .success: log.append("connected after \(seconds) s")
                case .failure(let error): log.append("\(error.code), \(error.reason?.kind.words ?? "")")
                }
            }
            try await time.sleep(for: .seconds(100))
            attempt.cancel()
        }
        advertisement.cancel()
        return log.values
    }

    @Test func `the next attempts fail to be established`() async throws {
        try await VirtualTime.run { time in
            let outcomes = try await outcomes(time, attempts: 3) { air, _ in air.faults.add(.refuseConnections(2)) }
            let failure = "connectionFailed, the connection failed to be established"
            #expect(outcomes == [failure, failure, "connected after 0 s"])
        }
    }

    @Test func `three links of four are never established, and nothing arrives on them`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            air.faults.add(.neverEstablish(3, of: 4), on: sensor)
            let listener = sensor.listen { event in
                guard case .accepted(let link) = event else { return }
                link.start(LinkRecorder())
                for number in 0..<5 as Range<UInt8> { _ = link.send(notification(number)) }
            }
            let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
            for number in 0..<8 {
                let recorder = LinkRecorder()
                let links = Log<any ATTLink>()
                let attempt = phone.connect(to: sensor.address) { result in
                    guard case .success(let link) = result else { return }
                    link.start(recorder)
                    links.append(link)
                }
                try await time.sleep(for: .seconds(2))
                // One that stands would be in the way of the next.
                links.values.first?.disconnect()
                try await time.sleep(for: .seconds(1))
                #expect(recorder.pdus.count == (number % 4 == 3 ? 5 : 0))
                #expect(recorder.end?.kind == (number % 4 == 3 ? .closedLocally : .failedToEstablish))
                attempt.cancel()
            }
            listener.cancel()
            advertisement.cancel()
        }
    }

    @Test func `attempts are ignored while the fault is there`() async throws {
        try await VirtualTime.run { time in
            let none = try await outcomes(time, attempts: 2) { air, sensor in
                air.faults.add(.ignoreConnections, on: sensor)
            }
            #expect(none.isEmpty)
        }
    }

    @Test func `an attempt that is ignored stays so, and the next one is another`() async throws {
        try await VirtualTime.run { time in
            let outcomes = try await outcomes(time, attempts: 3) { air, _ in
                air.faults.add(.ignoreConnections.skipping(1).times(1))
            }
            #expect(outcomes == ["connected after 0 s", "connected after 0 s"])
        }
    }

    @Test func `an attempt that is ignored is one strike, and is answered once the fault is removed`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let fault = air.faults.add(.ignoreConnections)
            let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
            let connected = Log<Bool>()
            let attempt = phone.connect(to: sensor.address) { connected.append((try? $0.get()) != nil) }
            try await time.sleep(for: .seconds(100))
            #expect(connected.values.isEmpty && air.faults.strikes(of: fault) == 1)
            air.faults.remove(fault)
            try await time.sleep(for: .seconds(1))
            #expect(connected.values == [true])
            attempt.cancel()
            advertisement.cancel()
        }
    }

    @Test func `attempts take longer`() async throws {
        try await VirtualTime.run { time in
            let outcomes = try await outcomes(time, attempts: 2) { air, _ in
                air.faults.add(.delayConnections(by: .seconds(7)).times(1))
            }
            #expect(outcomes == ["connected after 7 s", "connected after 0 s"])
        }
    }

    @Test func `advertisements are missed as often as asked`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            air.faults.add(.missAdvertisements(0.75))
            let heard = Log<Int>()
            let scan = phone.scan(ScanRequest()) { if case .reports(let new) = $0 { heard.append(new.count) } }
            let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) { _ in }
            try await time.sleep(for: .seconds(1050))
            let count = heard.values.reduce(0, +)
            #expect(count > 2200 && count < 2800)
            scan.cancel()
            advertisement.cancel()
        }
    }
}
