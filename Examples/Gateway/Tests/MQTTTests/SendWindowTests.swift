import Testing

@testable import MQTT

@Suite("The messages in flight")
struct SendWindowTests {
    private func message(_ token: UInt64) -> MQTTOutgoing { MQTTOutgoing(token, MQTTMessage("topic", [])) }

    @Test("have different numbers: one that is used again before its acknowledgement is noticed")
    func numbers() {
        var window = SendWindow(limit: 3)
        let first = [window.sent(message(1), as: 7), window.sent(message(2), as: 8)]
        let settled = window.settle(8)?.token
        let second = [window.sent(message(3), as: 8), window.sent(message(4), as: 7)]
        #expect(first == [true, true] && settled == 2 && second == [true, false])
        #expect(window.hasRoom)
    }
}
