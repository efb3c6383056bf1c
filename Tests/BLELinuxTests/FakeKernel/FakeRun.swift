import BLEProtocol
import BLERadio
import Synchronization

@testable import BLELinux

/// A run of an operation on a fake kernel, in time that goes on when nothing else can happen.
struct FakeRun: Sendable {
    let kernel: FakeKernel
    let timeline = StepTimeline()

    /// How long anything may take: longer than the kernel, the controller and all second tries together.
    static let patience = Duration.seconds(300)

    /// It waits for something, and nothing can happen any more.
    struct Hang: Error, CustomStringConvertible {
        let description: String
    }

    func radio(_ number: UInt16? = nil) throws -> LinuxRadio {
        try LinuxRadio(adapter: kernel.name(number ?? kernel.central), on: kernel.kernel, timeline: timeline)
    }

    /// Begins something, and returns the first event that has what is wanted, with the activity.
    func first<Event: Sendable, Value>(
        _ what: String,
        _ start: (@escaping @Sendable (Event) -> Void) -> RadioActivity,
        _ part: (Event) throws -> Value?
    ) async throws -> (value: Value, activity: RadioActivity) {
        let collector = Collector<Event>()
        let activity = start { collector.add($0) }
        let value = try await collector.first(what, in: self, part)
        return (value, activity)
    }

    /// The result of something that has one.
    func result<Value: Sendable>(
        _ what: String,
        _ start: (@escaping @Sendable (Result<Value, BLEError>) -> Void) -> RadioActivity
    ) async throws -> Value {
        try await first(what, start) { try $0.get() }.value
    }

    /// What something without failures is answered.
    func answer<Value: Sendable>(
        _ what: String,
        _ start: (@escaping @Sendable (Value) -> Void) -> Void
    ) async throws -> Value {
        let collector = Collector<Value>()
        start { collector.add($0) }
        return try await collector.first(what, in: self) { $0 }
    }

    /// What is told, in order.
    final class Collector<Event: Sendable>: Sendable {
        private let events = Mutex<[Event]>([])

        func add(_ event: Event) { events.withLock { $0.append(event) } }

        var all: [Event] { events.withLock { $0 } }

        func first<Value>(_ what: String, in run: FakeRun, _ part: (Event) throws -> Value?) async throws -> Value {
            var looked = 0
            var outcome: Result<Value, any Error>?
            let isDone = await run.kernel.run(run.timeline, within: FakeRun.patience) {
                let events = all
                while looked < events.count, outcome == nil {
                    do {
                        outcome = try part(events[looked]).map { .success($0) }
                    } catch {
                        outcome = .failure(error)
                    }
                    looked += 1
                }
                return outcome != nil
            }
            guard isDone, let outcome else { throw Hang(description: "\(what) has no end") }
            return try outcome.get()
        }
    }
}

extension FakeRun {
    /// A link, with what it tells.
    final class End: ATTLinkReceiver {
        enum Event: Sendable {
            case received([UInt8])
            case writable
            case ended(DisconnectReason)
        }

        let link: any ATTLink
        let events = Collector<Event>()
        /// What has come of the encryption and the pairings that the peer has asked for.
        let bonds = Collector<Bond>()
        let failures = Collector<BLEError>()

        init(_ link: any ATTLink) {
            self.link = link
            link.start(self)
        }

        func linkReceived(_ pdus: consuming ReceivedPDUs) {
            for pdu in pdus { events.add(.received(Array(pdu.bytes))) }
        }
        func linkDropped(_ count: Int) {}
        func linkBecameWritable() { events.add(.writable) }
        func linkPaired(_ bond: Bond) { bonds.add(bond) }
        func linkEncryptionFailed(_ error: BLEError) { failures.add(error) }
        func linkEnded(_ reason: DisconnectReason) { events.add(.ended(reason)) }

        var hasEnded: Bool { events.all.contains { if case .ended = $0 { true } else { false } } }

        /// Sends when there is room; `false` where the link has ended.
        func send(_ pdu: [UInt8], in run: FakeRun) async throws -> Bool {
            for _ in 0..<1000 {
                let seen = events.all.count
                switch link.send(pdu) {
                case .sent: return true
                case .ended: return false
                case .full:
                    let collector = events
                    let isTold = await run.kernel.run(run.timeline, within: FakeRun.patience) {
                        collector.all.dropFirst(seen).contains { if case .received = $0 { false } else { true } }
                    }
                    guard isTold else {
                        throw Hang(description: "a link that was full has room again, and says nothing")
                    }
                }
            }
            throw Hang(description: "a link says again and again that it has room, and has none")
        }

        /// The next PDU; `nil` where the link ended.
        func pdu(in run: FakeRun) async throws -> [UInt8]? {
            try await events.first("receiving", in: run) { event -> [UInt8]?? in
                switch event {
                case .received(let pdu): .some(pdu)
                case .ended: .some(nil)
                case .writable: nil
                }
            }
        }

        func end(in run: FakeRun) async throws -> DisconnectReason {
            try await events.first("ending a link", in: run) { event in
                if case .ended(let reason) = event { reason } else { nil }
            }
        }
    }

    func connect(_ radio: LinuxRadio, to peer: BluetoothAddress) async throws -> any ATTLink {
        try await result("connecting") { radio.connect(to: peer, result: $0) }
    }

    /// Connects, sends and receives, and closes the link.
    func exchange(_ radio: LinuxRadio, with peer: BluetoothAddress) async throws {
        let end = End(try await connect(radio, to: peer))
        let pdu: [UInt8] = [0x0A, 3, 0]
        if try await end.send(pdu, in: self) {
            if let echo = try await end.pdu(in: self), echo != pdu { throw Hang(description: "\(echo) came back") }
            end.link.disconnect()
        }
        // A link that takes nothing any more ends by itself.
        _ = try await end.end(in: self)
    }

    func hear(_ radio: LinuxRadio, _ request: ScanRequest) async throws {
        let scan = try await first("scanning") {
            radio.scan(request, events: $0)
        } _: { event -> Bool? in
            switch event {
            case .reports(let reports): reports.contains { $0.address == .example } ? true : nil
            case .failed(let error): throw error
            case .started, .dropped: nil
            }
        }
        scan.activity.cancel()
        // Who has told the kernel to scan has told it to stop.
        await kernel.idle()
    }
}
