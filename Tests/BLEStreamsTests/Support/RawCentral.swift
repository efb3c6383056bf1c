import BLERadio
import BLESimulator
import BLEStreams
import Synchronization
import Testing

/// A central without a client: it sends what it is told and keeps what comes, however wrong either is.
final class RawCentral: ATTLinkReceiver {
    private let link: any ATTLink
    private let received: AsyncStream<[UInt8]>
    private let pdus: AsyncStream<[UInt8]>.Continuation
    private let reason = Mutex<DisconnectReason?>(nil)

    /// Why the link is over; `nil` while it isn't.
    var end: DisconnectReason? { reason.withLock { $0 } }

    /// Connects, runs the closure, and drops the link.
    static func connected(
        from adapter: SimulatedAdapter,
        to peer: BluetoothAddress,
        _ body: (RawCentral) async throws -> Void
    ) async throws {
        // Held until there is a link: an attempt that nobody holds is over.
        let attempt = Mutex<RadioActivity?>(nil)
        let link: any ATTLink = try await withCheckedThrowingContinuation { continuation in
            let activity = adapter.connect(to: peer) { continuation.resume(with: $0) }
            attempt.withLock { $0 = activity }
        }
        attempt.withLock { $0 = nil }
        let central = RawCentral(link)
        link.start(central)
        defer { link.disconnect() }
        try await body(central)
    }

    private init(_ link: any ATTLink) {
        self.link = link
        (received, pdus) = AsyncStream.makeStream(of: [UInt8].self)
    }

    /// Sends PDUs without waiting for any answer.
    func send(_ pdus: [UInt8]...) {
        for pdu in pdus { _ = link.send(pdu) }
    }

    /// The next PDU that comes; `nil` when the link has ended.
    func next() async -> [UInt8]? {
        for await pdu in received { return pdu }
        return nil
    }

    /// Sends a request and takes what comes next.
    func ask(_ pdu: [UInt8]) async -> [UInt8]? {
        send(pdu)
        return await next()
    }

    /// Agrees on an MTU and subscribes, and then, amid what is notified, agrees on a smaller MTU.
    ///
    /// - Parameter configuration: the handle of the Client Characteristic Configuration, least significant octet first.
    func narrow(from mtu: UInt8, to smaller: UInt8, subscribedBy configuration: [UInt8]) async {
        let answer = await ask([0x02, mtu, 0x00])
        #expect(answer?.first == 0x03)
        send([0x12] + configuration + [0x01, 0x00])
        while let pdu = await next(), pdu.first != 0x1B {}
        send([0x02, smaller, 0x00])
    }

    /// Subscribes, and unsubscribes and subscribes again when it has heard 1,000 octets.
    ///
    /// - Parameters:
    ///   - handle: that of the Client Characteristic Configuration.
    ///   - isAll: whether these octets are all that it waits for.
    /// - Returns: the octets that it has heard since it subscribed again.
    func hearAnew(configuring handle: UInt16, until isAll: ([UInt8]) -> Bool) async -> [UInt8] {
        let configure: [UInt8] = [0x12, UInt8(truncatingIfNeeded: handle), UInt8(handle >> 8)]
        send(configure + [1, 0])
        var (heard, answers) = ([UInt8](), 0)
        while let pdu = await next() {
            if pdu == [0x13] { answers += 1 } else { heard += pdu.dropFirst(3) }
            // What was on its way is not of the second subscription.
            if pdu == [0x13], answers == 3 { heard = [] }
            if answers == 1, heard.count == 1000 { send(configure + [0, 0], configure + [1, 0]) }
            if answers == 3, isAll(heard) { break }
        }
        return heard
    }

    /// Sends a PDU again and again, as fast as the radio takes it.
    func flood(_ count: Int, _ time: VirtualTime, _ pdu: (Int) -> [UInt8]) async throws {
        for number in 0..<count {
            while link.send(pdu(number)) == .full { try await time.sleep(for: .milliseconds(10)) }
        }
    }

    /// Has the link encrypted with the key of a bond, without a PDU of its own.
    func encrypt() async throws {
        try await withCheckedThrowingContinuation { continuation in
            link.encrypt { continuation.resume(with: $0) }
        }
    }

    func linkReceived(_ pdus: ReceivedPDUs) {
        for pdu in pdus { self.pdus.yield(Array(pdu.bytes)) }
    }

    func linkDropped(_ count: Int) {}

    func linkBecameWritable() {}

    func linkEnded(_ reason: DisconnectReason) {
        self.reason.withLock { $0 = reason }
        pdus.finish()
    }
}
