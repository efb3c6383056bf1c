import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// A peripheral that refuses an exchange of the MTU, and begins one itself in the middle of an operation.
@Suite(.timeLimit(.minutes(10))) struct CrossingExchangeTests {
    private static let value = [UInt8](1...30)

    /// Its only characteristic of type B002 has the handle 3; the first answer is cut by an ATT_MTU of 23.
    private static func answers(_ request: [UInt8]) -> ScriptedLink.Answers {
        switch request[0] {
        case 0x02: [(.milliseconds(1), [0x01, 0x02, 0x00, 0x00, 0x06])]
        case 0x08 where request[1] == 1:
            [
                (.milliseconds(1), [0x09, 21, 3, 0] + value.prefix(19)),
                (.milliseconds(2), [0x02, 247, 0]),
            ]
        case 0x08: [(.milliseconds(10), [0x01, 0x08, request[1], request[2], 0x0A])]
        case 0x0C: [(.milliseconds(1), [0x0D] + value.dropFirst(Int(request[3])))]
        default: []
        }
    }

    @Test func `a value that was cut before the exchange is read to its end`() async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, Self.answers)]
        } _: { link, peer in
            let values = try await link.readAll(BluetoothUUID(0xB002))
            #expect(values.map { Array($0.value) } == [Self.value])
            #expect(link.mtu == 247 && peer.sent.contains([0x03, 0x05, 0x02]))
        }
    }
}
