import BLEProtocol
import BLERadio
import BLESimulator
import Testing

private typealias Outcome = Result<any ATTLink, BLEError>

private func connect(
    _ adapter: SimulatedAdapter,
    to address: BluetoothAddress
) -> (outcomes: Log<Outcome>, activity: RadioActivity) {
    let outcomes = Log<Outcome>()
    return (outcomes, adapter.connect(to: address) { outcomes.append($0) })
}

private func advertise(_ adapter: SimulatedAdapter, isConnectable: Bool = true) -> RadioActivity {
    let data = AdvertisingData(bytes: [2, 1, 6])
    return adapter.advertise(AdvertiseRequest(data: data, isConnectable: isConnectable)) { _ in }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

@Suite(.timeLimit(.minutes(10))) struct ConnectTests {
    @Test func `a connection is made at an advertising event, and both sides know each other`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            #expect(time.now < .milliseconds(110))
            #expect(pair.centralLink.peer == pair.peripheral.address)
            #expect(pair.centralLink.local == pair.central.address)
            #expect(pair.peripheralLink.peer == pair.central.address)
            #expect(pair.peripheralLink.local == pair.peripheral.address)
            #expect(pair.centralLink.maximumPDUSize == 672)
            #expect(pair.centralLink.security == .none)
            #expect(!pair.centralLink.isResumed)
            #expect(pair.central.activity.links == [pair.peripheral.address])
        }
    }

    @Test func `an absent peer, a wrong kind of address and oneself never answer`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let advertisements = [advertise(sensor), advertise(phone)]
            let wrongKind = BluetoothAddress(rawValue: sensor.address.rawValue, kind: .public)
            let absent = BluetoothAddress(rawValue: 0xC0FF_EE00_0001, kind: .random)
            let attempts = [wrongKind, absent, phone.address].map { connect(phone, to: $0) }
            try await time.sleep(for: .seconds(3600))
            #expect(attempts.allSatisfy { $0.outcomes.values.isEmpty })
            #expect(phone.activity.connecting == [wrongKind, absent, phone.address])
            for attempt in attempts { attempt.activity.cancel() }
            #expect(phone.activity.connecting.isEmpty)
            for advertisement in advertisements { advertisement.cancel() }
        }
    }

    @Test func `a peer that does not accept connections is heard and not connected to`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let beacon = advertise(sensor, isConnectable: false)
            let attempt = connect(phone, to: sensor.address)
            try await time.sleep(for: .seconds(60))
            #expect(attempt.outcomes.values.isEmpty)
            let advertisement = advertise(sensor)
            try await time.sleep(for: .seconds(1))
            #expect(attempt.outcomes.values.count == 1)
            beacon.cancel()
            advertisement.cancel()
        }
    }

    @Test func `an attempt that is cancelled when the link has just been made leaves no link behind`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            air.traceCapacity = 10
            let listener = sensor.listen { _ in }
            let attempts = Log<RadioActivity>()
            // The report of the advertisement that is connected to comes first, and cancels.
            let scan = phone.scan(ScanRequest()) { event in
                if case .reports = event { for attempt in attempts.values { attempt.cancel() } }
            }
            let attempt = connect(phone, to: sensor.address)
            attempts.append(attempt.activity)
            let advertisement = advertise(sensor)
            try await time.sleep(for: .seconds(1))
            #expect(air.trace.count == 3)
            #expect(attempt.outcomes.values.isEmpty)
            scan.cancel()
            #expect(phone.activity.isIdle)
            #expect(sensor.activity.links.isEmpty)
            listener.cancel()
            advertisement.cancel()
        }
    }

    @Test func `a link that nobody keeps is closed`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let listener = sensor.listen { _ in }
            let advertisement = advertise(sensor)
            let made = Log<Duration>()
            let attempt = phone.connect(to: sensor.address) { _ in made.append(time.now) }
            try await time.sleep(for: .seconds(1))
            #expect(made.values.count == 1)
            #expect(phone.activity.isIdle)
            #expect(sensor.activity.links.isEmpty)
            attempt.cancel()
            listener.cancel()
            advertisement.cancel()
        }
    }

    @Test func `a second attempt and a second link to one peer are busy`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let again = connect(pair.central, to: pair.peripheral.address)
            let back = connect(pair.peripheral, to: pair.central.address)
            let absent = BluetoothAddress(rawValue: 1, kind: .public)
            let first = connect(pair.central, to: absent)
            let second = connect(pair.central, to: absent)
            try await time.sleep(for: .seconds(1))
            #expect(again.outcomes.values.map(\.failure?.code) == [.busy])
            #expect(back.outcomes.values.map(\.failure?.code) == [.busy])
            #expect(first.outcomes.values.isEmpty)
            #expect(second.outcomes.values.map(\.failure?.code) == [.busy])
            #expect(second.outcomes.values.first?.failure?.remedy.isEmpty == false)
            withExtendedLifetime(first.activity) {}
        }
    }

    @Test func `several peers are connected to at once`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let sensors = (0..<20).map { _ in air.adapter() }
            let advertisements = sensors.map { advertise($0) }
            let attempts = sensors.map { connect(phone, to: $0.address) }
            try await time.sleep(for: .seconds(1))
            #expect(attempts.allSatisfy { $0.outcomes.values.count == 1 })
            #expect(Set(phone.activity.links) == Set(sensors.map(\.address)))
            withExtendedLifetime((advertisements, attempts)) {}
        }
    }

    @Test func `advertising pauses while a central is connected and resumes by itself`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            let other = pair.air.adapter()
            let heard = Log<Duration>()
            let scan = other.scan(ScanRequest()) { if case .reports = $0 { heard.append(time.now) } }
            let attempt = connect(other, to: pair.peripheral.address)
            try await time.sleep(for: .seconds(10))
            #expect(heard.values.isEmpty && attempt.outcomes.values.isEmpty)
            pair.centralLink.disconnect()
            try await time.sleep(for: .milliseconds(200))
            #expect(!heard.values.isEmpty)
            #expect(attempt.outcomes.values.count == 1)
            scan.cancel()
        }
    }

    @Test func `a second listener is told that there is one, which goes on`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let log = Log<String>()
            let first = sensor.listen { if case .accepted = $0 { log.append("first") } }
            let second = sensor.listen { if case .failed(let error) = $0 { log.append("\(error.code)") } }
            let advertisement = advertise(sensor)
            try await time.sleep(for: .seconds(1))
            let attempt = phone.connect(to: sensor.address) { _ in }
            try await time.sleep(for: .seconds(1))
            #expect(log.values == ["busy", "first"])
            attempt.cancel()
            first.cancel()
            // Whoever comes when it has gone has the adapter.
            let third = sensor.listen { if case .started = $0 { log.append("third") } }
            try await time.sleep(for: .seconds(1))
            #expect(log.values == ["busy", "first", "third"])
            second.cancel()
            third.cancel()
            advertisement.cancel()
        }
    }

    @Test func `a link to a peer without a listener stands, and nothing is answered`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (phone, sensor) = (air.adapter(), air.adapter())
            let advertisement = advertise(sensor)
            let attempt = connect(phone, to: sensor.address)
            try await time.sleep(for: .seconds(1))
            let link = try #require(try attempt.outcomes.values.first?.get())
            let recorder = LinkRecorder()
            link.start(recorder)
            #expect(link.send([0x0A, 3, 0]) == .sent)
            try await time.sleep(for: .seconds(60))
            #expect(recorder.events.isEmpty)
            link.disconnect()
            try await time.sleep(for: .seconds(1))
            #expect(recorder.events == [.ended(DisconnectReason(.closedLocally))])
            #expect(sensor.activity.links.isEmpty)
            advertisement.cancel()
        }
    }

    @Test func `an attempt fails when its adapter is switched off`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let phone = air.adapter()
            let absent = BluetoothAddress(rawValue: 1, kind: .public)
            let running = connect(phone, to: absent)
            try await time.sleep(for: .seconds(1))
            phone.powerOff()
            let late = connect(phone, to: absent)
            try await time.sleep(for: .seconds(1))
            #expect(running.outcomes.values.map(\.failure?.code) == [.adapterPoweredOff])
            #expect(late.outcomes.values.map(\.failure?.code) == [.adapterPoweredOff])
            #expect(phone.activity.isIdle)
        }
    }
}
