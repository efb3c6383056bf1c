import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// What is remembered of parts of messages from one link to the one that takes it over.
@Suite struct SentPartsTests {
    /// A link that has taken over another one.
    private final class Resumed: ATTLink {
        let peer: BluetoothAddress
        let local: BluetoothAddress? = nil
        let maximumPDUSize = 672
        let isResumed: Bool
        let security = LinkSecurity.none

        init(to peer: BluetoothAddress, isResumed: Bool = true) { (self.peer, self.isResumed) = (peer, isResumed) }

        func start(_ receiver: any ATTLinkReceiver) {}
        func send(_ pdu: [UInt8]) -> SendResult { .ended }
        func disconnect() {}
        func readRSSI(_ result: @escaping @Sendable (Int8?) -> Void) { result(nil) }
    }

    private static func address(_ number: UInt64) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0x4000_0000_0000 + number, kind: .random)
    }

    /// A link to a peripheral that gets only a part of a message.
    private static func sendPart(to peer: BluetoothAddress, _ parts: SentParts) -> SentParts.Record {
        let record = parts.begin(Resumed(to: peer, isResumed: false))
        parts.sent(part: true, at: 3, of: peer, in: record)
        return record
    }

    @Test func `a link that takes over another one goes on with what was sent there, and a new one does not`() {
        let parts = SentParts()
        let record = Self.sendPart(to: Self.address(1), parts)
        #expect(parts.begin(Resumed(to: Self.address(1))) === record)
        #expect(parts.begin(Resumed(to: Self.address(2))) !== record)
        #expect(parts.begin(Resumed(to: Self.address(1), isResumed: false)) !== record)
        #expect(parts.begin(Resumed(to: Self.address(1))) !== record)
    }

    @Test func `peripherals under ever new addresses don't stay for good`() {
        let parts = SentParts()
        weak let oldest: SentParts.Record? = Self.sendPart(to: Self.address(0), parts)
        for number in 1...1000 as ClosedRange<UInt64> { _ = Self.sendPart(to: Self.address(number), parts) }
        #expect(oldest == nil)
        #expect(parts.begin(Resumed(to: Self.address(1000))).parts(before: 3, in: nil) == [3])
    }

    @Test func `a part comes before a message for another handle once its characteristic is no longer there`() {
        let parts = SentParts()
        let peer = Self.address(1)
        let record = parts.begin(Resumed(to: peer, isResumed: false))
        parts.sent(part: true, at: 3, BluetoothUUID(0xD002), of: peer, in: record)
        parts.sent(part: true, at: 5, of: peer, in: record)
        // Nothing is known of the services, or of what is at a handle.
        #expect(record.parts(before: 7, in: nil).isEmpty && record.parts(before: 3, in: nil) == [3])
        #expect(record.parts(before: 7, in: GATTDatabase()) == [3])
        parts.sent(part: false, at: 7, BluetoothUUID(0xD002), after: [3], of: peer, in: record)
        #expect(record.parts(before: 7, in: GATTDatabase()).isEmpty && record.parts(before: 5, in: nil) == [5])
    }

    @Test func `what is sent whole leaves nothing behind`() {
        let parts = SentParts()
        let record = Self.sendPart(to: Self.address(1), parts)
        parts.sent(part: false, at: 3, of: Self.address(1), in: record)
        #expect(parts.begin(Resumed(to: Self.address(1))) !== record)
    }
}
