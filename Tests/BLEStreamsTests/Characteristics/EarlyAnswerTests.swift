import BLEProtocol
import BLESimulator
import BLEStreams
import Testing

/// Values that a characteristic sends before the request whose answer is awaited on it.
@Suite(.timeLimit(.minutes(10))) struct EarlyAnswerTests {
    private static let control = BluetoothUUID(0xA001)

    /// Its control point has the handle 3, and sends 1 when it is subscribed to, and 2 after each request.
    private static func answers(_ pdu: [UInt8]) -> ScriptedLink.Answers {
        let start = pdu.count > 2 ? Int(pdu[1]) | Int(pdu[2]) << 8 : 0
        let type = pdu.count > 6 ? Int(pdu[5]) | Int(pdu[6]) << 8 : 0
        let answers: [[UInt8]] =
            switch pdu[0] {
            case 0x02: [[0x03, 0x05, 0x02]]
            case 0x04 where start <= 4: [[0x05, 1, 4, 0, 0x02, 0x29]]
            case 0x08 where type == 0x2803 && start <= 2: [[0x09, 7, 2, 0, 0x18, 3, 0, 0x01, 0xA0]]
            case 0x10 where type == 0x2800 && start <= 1: [[0x11, 6, 1, 0, 4, 0, 0x00, 0xA0]]
            case 0x12 where pdu == [0x12, 4, 0, 1, 0]: [[0x1B, 3, 0, 1], [0x13]]
            case 0x12 where start == 3: [[0x13], [0x1B, 3, 0, 2]]
            case 0x12: [[0x13]]
            case 0x04, 0x08, 0x10: [[0x01, pdu[0], pdu[1], pdu[2], 0x0A]]
            default: []
            }
        return answers.enumerated().map { (.milliseconds($0.offset + 1), $0.element) }
    }

    @Test func `what comes before the request is written is not its answer`() async throws {
        try await ScriptedLink.run {
            [ScriptedLink($0, Self.answers)]
        } _: { link, peer in
            let answer = try await link.request([7], to: Self.control, answeredOn: Self.control)
            #expect(Array(answer) == [2])
            #expect(peer.sent.contains([0x12, 3, 0, 7]))
        }
    }
}
