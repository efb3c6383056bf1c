import BLEProtocol
import BLERadio
import Dispatch
import RadioDoubles
import Synchronization
import Testing

@testable import BLEStreams

/// Who sends for others under a flood hands its turn on: it returns, order stays, nothing is lost.
@Suite(.timeLimit(.minutes(10))) struct SendingTurnTests {
    /// A link that always has room; each PDU that it takes can have another caller come meanwhile.
    private final class FloodedLink: ATTLink {
        let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
        let local: BluetoothAddress? = nil
        let maximumPDUSize = 672
        let isResumed = false
        let security = LinkSecurity.none
        private let taken = Mutex<[[UInt8]]>([])
        private let hasEnded = Mutex(false)
        private let meanwhile: @Sendable () -> Void

        init(meanwhile: @escaping @Sendable () -> Void = {}) { self.meanwhile = meanwhile }

        /// The numbers that were written, in the order in which they left.
        var numbers: [UInt32] { taken.withLock { $0 }.map { UInt32(octets: $0.dropFirst(3)) } }

        func send(_ pdu: [UInt8]) -> SendResult {
            guard !hasEnded.withLock({ $0 }) else { return .ended }
            taken.withLock { $0.append(pdu) }
            meanwhile()
            return .sent
        }

        func end() { hasEnded.withLock { $0 = true } }
        func start(_ receiver: any ATTLinkReceiver) {}
        func disconnect() {}
        func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }
    }

    private static let handle: UInt16 = 3

    private func bearer(on link: FloodedLink, _ timeline: any Timeline) -> Bearer {
        Bearer(
            link,
            timeline: timeline,
            database: SharedDatabase(AttributeDatabase(services: [])),
            Bearer.Surroundings()
        )
    }

    /// The same write as a PDU.
    private static func command(_ number: UInt32) -> [UInt8] {
        ATTWriteCommand(handle: handle, value: number.octets[...]).encoded
    }

    private static func write(_ number: UInt32) -> WriteCommand { WriteCommand(handle: handle, value: number.octets) }

    /// Callers of which each one comes while the PDU of the one before is being handed to the radio.
    private final class Flood: Sendable {
        let outcomes = Recorder<Bool>()
        private let count: UInt32
        private let next = Mutex<UInt32>(0)
        private let bearer = Mutex<Bearer?>(nil)

        init(_ count: UInt32) { self.count = count }

        func begin(on bearer: Bearer) {
            self.bearer.withLock { $0 = bearer }
            come()
        }

        func come() {
            let number: UInt32? = next.withLock { next in
                guard next < count else { return nil }
                defer { next += 1 }
                return next
            }
            guard let number, let bearer = bearer.withLock({ $0 }) else { return }
            let caller = OperationCallback { [outcomes] outcome in
                if case .success = outcome { outcomes.add(true) } else { outcomes.add(false) }
            }
            bearer.begin(.aside(write(number)), for: caller)
        }

        func stop() { bearer.withLock { $0 = nil } }
    }

    @Test func `a caller returns though others keep coming, and all leaves in order`() {
        let (timeline, flood) = (HandTimeline(), Flood(1000))
        let link = FloodedLink { flood.come() }
        let bearer = bearer(on: link, timeline)
        flood.begin(on: bearer)
        defer { flood.stop() }
        var turns = [link.numbers.count]
        #expect(turns[0] < 100, "the first caller has returned long before the last one came")
        while timeline.step() { turns.append(link.numbers.count - turns.reduce(0, +)) }
        #expect(turns.allSatisfy { $0 <= turns[0] }, "no turn is longer than another")
        #expect(link.numbers == Array(0..<1000))
        #expect(flood.outcomes.all == Array(repeating: true, count: 1000))
    }

    @Test func `who comes while the turn is handed on doesn't overtake`() throws {
        let (timeline, flood) = (HandTimeline(), Flood(100))
        let link = FloodedLink { flood.come() }
        let bearer = bearer(on: link, timeline)
        flood.begin(on: bearer)
        defer { flood.stop() }
        let before = link.numbers
        try #require(before.count < 99)
        bearer.begin(.aside(Self.write(7000)), for: OperationCallback { _ in })
        #expect(!bearer.sendAtOnce(Self.command(UInt32(8000))))
        #expect(link.numbers == before)
        while timeline.step() {}
        // It came behind the one whose turn it is, which the flood's next one waits for.
        let place = before.count + 1
        #expect(link.numbers == Array(0..<UInt32(place)) + [7000] + Array(UInt32(place)..<100))
        #expect(bearer.sendAtOnce(Self.command(UInt32(9000))))
    }

    @Test func `a link that ends while the turn is handed on leaves nobody without an outcome`() {
        let (timeline, flood) = (HandTimeline(), Flood(1000))
        let link = FloodedLink { flood.come() }
        let bearer = bearer(on: link, timeline)
        flood.begin(on: bearer)
        let sent = link.numbers.count
        link.end()
        bearer.linkEnded(DisconnectReason(.supervisionTimeout))
        while timeline.step() {}
        #expect(link.numbers.count == sent)
        // One of them was being handed to the radio.
        #expect(flood.outcomes.all.count == sent + 1)
        #expect(flood.outcomes.all.filter { $0 }.count == sent)
        flood.stop()
    }

    @Test func `a turn that is taken up before it is noted who takes it is not lost`() {
        let (timeline, flood) = (EagerTimeline(), Flood(1000))
        let link = FloodedLink { flood.come() }
        let bearer = bearer(on: link, timeline)
        flood.begin(on: bearer)
        defer { flood.stop() }
        while timeline.hand.step() {}
        #expect(link.numbers.count == 1000)
    }

    @Test(arguments: 1...4) func `callers on threads of their own lose nothing, and each keeps its order`(round: Int) {
        let (threads, each) = (4, 5000)
        let link = FloodedLink()
        let bearer = bearer(on: link, PatientTimeline())
        let all = DispatchGroup()
        for _ in 0..<threads * each { all.enter() }
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            for number in 0..<each {
                let number = UInt32(thread * each + number)
                if bearer.sendAtOnce(Self.command(number)) {
                    all.leave()
                } else {
                    bearer.begin(.aside(Self.write(number)), for: OperationCallback { _ in all.leave() })
                }
            }
        }
        all.wait()
        let numbers = link.numbers.map(Int.init)
        #expect(numbers.count == threads * each)
        for thread in 0..<threads {
            #expect(numbers.filter { $0 / each == thread } == Array(thread * each..<(thread + 1) * each))
        }
    }
}
