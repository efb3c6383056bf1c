import BLEProtocol
import BLERadio
import BLESimulator
import Testing

@Suite(.timeLimit(.minutes(10))) struct RealTimeAirTests {
    @Test(.timeLimit(.minutes(10)))
    func `in real time two adapters find each other, talk and part`() async throws {
        let air = SimulatedAir()
        let settings = AdapterSettings(advertisingInterval: .milliseconds(20), linkTiming: .fast)
        let (phone, sensor) = (air.adapter(settings: settings), air.adapter(settings: settings))
        let (events, signal) = AsyncStream<String>.makeStream()
        let listener = sensor.listen { event in
            guard case .accepted(let link) = event else { return }
            link.start(
                LinkRecorder { event in
                    switch event {
                    case .received(let pdus): for pdu in pdus { _ = link.send([0x0B] + pdu.dropFirst()) }
                    case .ended(let reason): signal.yield("sensor: \(reason.kind)")
                    case .dropped, .writable: break
                    }
                }
            )
        }
        let advertisement = sensor.advertise(AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))) { _ in }
        let scan = phone.scan(ScanRequest()) { event in
            if case .reports(let reports) = event, let first = reports.first, first.address == sensor.address {
                signal.yield("found")
            }
        }
        var steps = events.makeAsyncIterator()
        #expect(await steps.next() == "found")
        scan.cancel()

        let link = Log<any ATTLink>()
        let recorder = LinkRecorder { event in
            switch event {
            case .received(let pdus): for pdu in pdus { signal.yield("phone: \(pdu)") }
            case .ended(let reason): signal.yield("phone: \(reason.kind)")
            case .dropped, .writable: break
            }
        }
        let attempt = phone.connect(to: sensor.address) { result in
            guard case .success(let made) = result else { return signal.finish() }
            link.append(made)
            made.start(recorder)
            for number in 0..<3 as Range<UInt8> { _ = made.send([0x0A, number, 0]) }
        }
        var heard: [String] = []
        while heard.count < 3, let step = await steps.next() { if step != "found" { heard.append(step) } }
        #expect(heard == ["phone: [11, 0, 0]", "phone: [11, 1, 0]", "phone: [11, 2, 0]"])

        link.values.first?.disconnect()
        let ends = [await steps.next(), await steps.next()]
        #expect(Set(ends) == ["phone: closedLocally", "sensor: closedByPeer"])
        listener.cancel()
        advertisement.cancel()
        attempt.cancel()
        #expect(phone.activity.isIdle && sensor.activity.isIdle)
    }
}
