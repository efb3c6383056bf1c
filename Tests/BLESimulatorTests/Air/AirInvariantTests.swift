import BLEProtocol
import BLERadio
import BLESimulator
import Synchronization
import Testing

/// Numbers what it sends, and checks what it hears against the other end.
private final class Checker: ATTLinkReceiver {
    struct Heard {
        var numbers: [Int] = []
        var ends = 0
        var callsAfterEnd = 0
        var isInside = false
        var nestedCalls = 0
    }

    let heard = Mutex(Heard())
    private let sent = Mutex(0)
    let link: any ATTLink

    init(_ link: any ATTLink) { self.link = link }

    func send() {
        sent.withLock { sent in
            let pdu: [UInt8] = [0x1B, 3, 0, UInt8(sent >> 8 & 255), UInt8(sent & 255)]
            if link.send(pdu) == .sent { sent += 1 }
        }
    }

    func linkReceived(_ pdus: ReceivedPDUs) {
        var answers = false
        enter { heard in
            heard.numbers += pdus.map { Int($0.bytes[3]) << 8 | Int($0.bytes[4]) }
            answers = heard.numbers.count % 4 == 0
        }
        // Not always, or the two would answer each other for ever in no time.
        if answers { send() }
        leave()
    }

    func linkDropped(_ count: Int) {
        enter { _ in }
        leave()
    }

    func linkBecameWritable() {
        enter { _ in }
        send()
        leave()
    }

    func linkEnded(_ reason: DisconnectReason) {
        enter { $0.ends += 1 }
        leave()
    }

    private func enter(_ change: (inout Heard) -> Void) {
        heard.withLock { heard in
            if heard.ends > 0 { heard.callsAfterEnd += 1 }
            if heard.isInside { heard.nestedCalls += 1 }
            heard.isInside = true
            change(&heard)
        }
    }

    private func leave() { heard.withLock { $0.isInside = false } }
}

@Suite(.timeLimit(.minutes(10))) struct AirInvariantTests {
    @Test(arguments: 0..<30 as Range<UInt64>)
    func `whatever happens, each link ends once on each side and PDUs keep their order`(seed: UInt64) async throws {
        try await VirtualTime.run(seed: seed) { time in
            let air = SimulatedAir(time)
            let timing = seed % 2 == 0 ? LinkTiming.linux : .immediate
            let settings = AdapterSettings(linkTiming: timing, sendBufferSize: 3000)
            let adapters = (0..<4).map { _ in air.adapter(settings: settings) }
            air.faults.add(.loseLinks(every: .seconds(30)))
            air.faults.add(.missAdvertisements(0.2))
            let checkers = Log<Checker>()
            var activities: [RadioActivity] = []
            func some<Element>(_ elements: [Element]) -> Element {
                elements[Int(time.randomBits() % UInt64(elements.count))]
            }
            for _ in 0..<400 {
                let adapter = some(adapters)
                switch time.randomBits() % 16 {
                case 0...2:
                    activities.append(
                        adapter.connect(to: some(adapters).address) { result in
                            guard case .success(let link) = result else { return }
                            let checker = Checker(link)
                            checkers.append(checker)
                            link.start(checker)
                        }
                    )
                case 3:
                    activities.append(
                        adapter.listen { event in
                            guard case .accepted(let link) = event else { return }
                            let checker = Checker(link)
                            checkers.append(checker)
                            link.start(checker)
                        }
                    )
                case 4, 5:
                    let data = AdvertisingData(bytes: [2, 1, 6])
                    activities.append(adapter.advertise(AdvertiseRequest(data: data)) { _ in })
                case 6: activities.append(adapter.scan(ScanRequest()) { _ in })
                case 7: if !activities.isEmpty { some(activities).cancel() }
                case 8: some([adapter.powerOff, adapter.unplug, adapter.block])()
                case 9, 10: for adapter in adapters { adapter.powerOn() }
                case 11: air.setSignal(some([.outOfRange, .dBm(-50)]), between: adapter, and: some(adapters))
                case 12: checkers.values.last?.link.disconnect()
                default: for checker in checkers.values.suffix(6) { for _ in 0..<9 { checker.send() } }
                }
                try await time.sleep(for: .milliseconds(time.randomBits() % 300))
            }
            for activity in activities { activity.cancel() }
            for adapter in adapters { adapter.powerOff() }
            try await time.sleep(for: .seconds(60))
            #expect(adapters.allSatisfy { $0.activity.isIdle })
            let count = checkers.values.map { checker in checker.heard.withLock { $0.numbers.count } }.reduce(0, +)
            #expect(count > 0, "nothing was heard on any link")
            for checker in checkers.values {
                let heard = checker.heard.withLock { $0 }
                #expect(heard.ends == 1)
                #expect(heard.callsAfterEnd == 0 && heard.nestedCalls == 0)
                #expect(heard.numbers == Array(0..<heard.numbers.count))
            }
        }
    }
}
