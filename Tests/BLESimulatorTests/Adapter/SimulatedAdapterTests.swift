import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@Suite(.timeLimit(.minutes(10))) struct SimulatedAdapterTests {
    @Test func `an observer hears the state now and each change`() async throws {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter(name: "hci0")
            let states = Log<AdapterInfo>()
            let observer = adapter.observeAdapter { states.append($0) }
            for change in [adapter.powerOff, adapter.powerOff, adapter.block, adapter.unplug, adapter.plugIn] {
                change()
                try await time.sleep(for: .seconds(1))
            }
            #expect(states.values.map(\.state) == [.poweredOn, .poweredOff, .blocked, .absent, .poweredOn])
            #expect(states.values.map { $0.address == nil } == [false, false, false, true, false])
            #expect(states.values.allSatisfy { $0.name == "hci0" })
            observer.cancel()
            adapter.powerOff()
            try await time.sleep(for: .seconds(1))
            #expect(states.values.count == 5)
            #expect(adapter.state == .poweredOff)
        }
    }

    @Test func `adapters get names and addresses of their own`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let taken = BluetoothAddress(rawValue: 0xC0DE_0000_0001, kind: .random)
            let adapters = [air.adapter(address: taken), air.adapter(), air.adapter(name: "mine")]
            #expect(adapters.map(\.name) == ["sim0", "sim1", "mine"])
            #expect(Set(adapters.map(\.address)).count == 3)
            #expect(adapters.allSatisfy { $0.address.subkind == .randomStatic })
        }
    }

    @Test func `switching off ends links here with the adapter's state and there as closed by the peer`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            #expect(pair.centralLink.send([0x0A, 3, 0]) == .sent)
            try await time.sleep(for: .milliseconds(1))
            pair.central.powerOff()
            #expect(pair.centralLink.send([0x0A, 3, 0]) == .ended)
            try await time.sleep(for: .milliseconds(1))
            #expect(pair.atCentral.events == [.ended(DisconnectReason(.adapterOff))])
            #expect(
                pair.atPeripheral.events == [.received([[0x0A, 3, 0]]), .ended(DisconnectReason(.closedByPeer))]
            )
            #expect(pair.central.activity.isIdle)
            #expect(pair.peripheral.activity.links.isEmpty)
        }
    }

    @Test func `a peer that is out of range doesn't hear that an adapter is switched off`() async throws {
        try await VirtualTime.run { time in
            let settings = AdapterSettings(
                linkTiming: LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(2))
            )
            let pair = try await Conversation(time, settings: settings)
            pair.air.setSignal(.outOfRange, between: pair.central, and: pair.peripheral)
            try await time.sleep(for: .seconds(1))
            pair.central.powerOff()
            try await time.sleep(for: .milliseconds(500))
            #expect(pair.atCentral.end == DisconnectReason(.adapterOff))
            #expect(pair.atPeripheral.events.isEmpty)
            try await time.sleep(for: .seconds(1))
            #expect(pair.atPeripheral.events == [.ended(DisconnectReason(.supervisionTimeout))])
        }
    }

    @Test func `unplugging leaves the peer to its supervision timeout`() async throws {
        try await VirtualTime.run { time in
            let settings = AdapterSettings(
                linkTiming: LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(2))
            )
            let pair = try await Conversation(time, settings: settings)
            pair.peripheral.unplug()
            try await time.sleep(for: .milliseconds(1999))
            #expect(pair.atPeripheral.end == DisconnectReason(.adapterOff))
            #expect(pair.atCentral.end == nil)
            #expect(pair.centralLink.send([0x0A, 3, 0]) == .sent)
            try await time.sleep(for: .milliseconds(2))
            #expect(pair.atCentral.events == [.ended(DisconnectReason(.supervisionTimeout))])
            #expect(pair.peripheral.activity.isIdle)
        }
    }

    @Test func `an adapter that hangs is lost for its peers, and its own program isn't told`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.central.hang()
            #expect(pair.centralLink.send([0x0A, 3, 0]) == .sent)
            #expect(pair.peripheralLink.send([0x1B, 3, 0, 7]) == .sent)
            try await time.sleep(for: .seconds(40))
            #expect(pair.atPeripheral.events == [.ended(DisconnectReason(.supervisionTimeout))])
            #expect(pair.atCentral.events.isEmpty)
            pair.centralLink.disconnect()
            try await time.sleep(for: .milliseconds(1999))
            #expect(pair.atCentral.events.isEmpty)
            try await time.sleep(for: .milliseconds(2))
            #expect(pair.atCentral.events == [.ended(DisconnectReason(.closedLocally))])
            #expect(pair.central.activity.isIdle)
        }
    }

    @Test func `a link that an adapter closes while it hangs is there for its peer until the supervision timeout`()
        async throws
    {
        try await VirtualTime.run { time in
            let settings = AdapterSettings(
                linkTiming: LinkTiming(connectionInterval: .milliseconds(30), supervisionTimeout: .seconds(6))
            )
            let pair = try await Conversation(time, settings: settings)
            pair.central.hang()
            pair.centralLink.disconnect()
            try await time.sleep(for: .milliseconds(2001))
            #expect(pair.atCentral.events == [.ended(DisconnectReason(.closedLocally))])
            try await time.sleep(for: .seconds(3))
            #expect(pair.atPeripheral.events.isEmpty)
            try await time.sleep(for: .seconds(1))
            #expect(pair.atPeripheral.events == [.ended(DisconnectReason(.supervisionTimeout))])
        }
    }

    @Test func `switching off ends the links of an adapter that hangs`() async throws {
        try await VirtualTime.run { time in
            let pair = try await Conversation(time)
            pair.peripheral.hang()
            pair.peripheral.goDeaf(untilPowerCycle: false)
            try await time.sleep(for: .seconds(1))
            #expect(pair.atCentral.end == DisconnectReason(.supervisionTimeout))
            #expect(pair.atPeripheral.events.isEmpty)
            pair.peripheral.powerOff()
            try await time.sleep(for: .milliseconds(1))
            #expect(pair.atPeripheral.events == [.ended(DisconnectReason(.adapterOff))])
            #expect(pair.peripheral.activity.isIdle)
        }
    }

    @Test func `an adapter that hangs is neither heard nor connected to, and begins no advertisement`() async throws {
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (central, sensor) = (air.adapter(), air.adapter())
            let log = Log<String>()
            let (heard, connected) = (Log<BluetoothAddress>(), Log<Bool>())
            let advertise = {
                sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) {
                    switch $0 {
                    case .started: log.append("advertising")
                    case .failed(let error): log.append("\(error.code)")
                    }
                }
            }
            let former = advertise()
            sensor.hang()
            let scan = central.scan(ScanRequest()) { event in
                if case .reports(let reports) = event { heard.append(reports[0].address) }
            }
            let attempt = central.connect(to: sensor.address) { _ in connected.append(true) }
            let late = advertise()
            try await time.sleep(for: .seconds(10))
            #expect(heard.values.isEmpty && connected.values.isEmpty)
            #expect(log.values == ["advertising", "timedOut"])
            let selection = sensor.selectPHYs(AdapterPHYs.Selection([.le1M])) { outcome in
                if case .failure(let error) = outcome { log.append("\(error.code)") }
            }
            try await time.sleep(for: .milliseconds(1))
            #expect(log.values == ["advertising", "timedOut", "timedOut"])
            sensor.powerOff()
            sensor.powerOn()
            let again = advertise()
            try await time.sleep(for: .seconds(1))
            #expect(heard.values.contains(sensor.address) && connected.values == [true])
            for activity in [former, late, again, scan, attempt, selection] { activity.cancel() }
        }
    }

    @Test func `nor does it change what it advertises, and its program is told`() async throws {
        try await VirtualTime.run { time in
            let sensor = SimulatedAir(time).adapter()
            let request = AdvertiseRequest(data: AdvertisingData(bytes: []))
            let advertisement = sensor.advertise(request) { _ in }
            sensor.hang()
            let outcomes = Log<BLEError.Code?>()
            advertisement.change(to: request) { outcome in
                if case .failure(let error) = outcome { outcomes.append(error.code) } else { outcomes.append(nil) }
            }
            try await time.sleep(for: .milliseconds(1))
            #expect(outcomes.values == [.timedOut])
            advertisement.cancel()
        }
    }

    @Test func `listening and advertising end when the adapter is switched off, and start again on request`()
        async throws
    {
        try await VirtualTime.run { time in
            let adapter = SimulatedAir(time).adapter()
            let log = Log<String>()
            for _ in 0..<2 {
                let listener = adapter.listen {
                    switch $0 {
                    case .started: log.append("listening")
                    case .accepted: log.append("accepted")
                    case .interrupted: log.append("interrupted")
                    case .failed(let error): log.append("\(error.code)")
                    }
                }
                let advertisement = adapter.advertise(AdvertiseRequest(data: AdvertisingData(bytes: []))) {
                    switch $0 {
                    case .started: log.append("advertising")
                    case .failed(let error): log.append("\(error.code)")
                    }
                }
                try await time.sleep(for: .seconds(1))
                #expect(adapter.activity.advertisementCount == 1 && adapter.activity.listenerCount == 1)
                adapter.powerOff()
                try await time.sleep(for: .seconds(1))
                #expect(adapter.activity.isIdle)
                adapter.powerOn()
                listener.cancel()
                advertisement.cancel()
            }
            let once = ["listening", "advertising", "adapterPoweredOff", "adapterPoweredOff"]
            #expect(log.values == once + once)
        }
    }
}
