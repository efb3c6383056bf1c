import Foundation
import Leases
import Testing

@Suite("Messages")
struct MessageTests {
    private static let gateway = GatewayID(rawValue: 0x001A_7DDA_7113)
    private static let mark = Mark(session: SessionID(rawValue: 0x9F3C_0000_0000_00A1), sequence: 4)
    private static let epoch = Epoch(number: 7, gateway: gateway)

    static let vectors: [(String, LeaseMessage)] = [
        (
            #"{"epoch":7,"gateway":"001A7DDA7113","kind":"claim","rssi":-61,"sequence":4,"session":"9F3C0000000000A1"}"#,
            .record(LeaseRecord(epoch: epoch, mark: mark, after: nil, strength: -61))
        ),
        (
            #"{"after":{"sequence":4,"session":"9F3C0000000000A1"},"epoch":7,"gateway":"001A7DDA7113","kind":"release","#
                + #""rssi":-90,"sequence":4,"session":"9F3C0000000000A1","to":"0000000000FF"}"#,
            .record(
                LeaseRecord(
                    epoch: epoch,
                    mark: mark,
                    after: mark,
                    strength: -90,
                    state: .released(to: GatewayID(rawValue: 255))
                )
            )
        ),
        (
            #"{"epoch":7,"gateway":"0000000000FF","kind":"bid","owner":"001A7DDA7113","rssi":-50}"#,
            .bid(LeaseBid(epoch: epoch, gateway: GatewayID(rawValue: 255), strength: -50))
        ),
        (#"{"epoch":7,"gateway":"001A7DDA7113","kind":"note"}"#, .note(epoch)),
    ]

    @Test("Each message is written and read as LEASES.md says", arguments: vectors)
    func vector(_ text: String, _ message: LeaseMessage) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(message), as: UTF8.self) == text)
        #expect(try JSONDecoder().decode(LeaseMessage.self, from: Data(text.utf8)) == message)
    }

    @Test(
        "What isn't a message is an error",
        arguments: [
            "", "{}", "[]", #"{"kind":"other"}"#, #"{"kind":"note","epoch":-1,"gateway":"001A7DDA7113"}"#,
            #"{"kind":"note","epoch":7,"gateway":"1A"}"#, #"{"kind":"note","epoch":7,"gateway":"001A7DDA711Z"}"#,
            #"{"kind":"claim","epoch":7,"gateway":"001A7DDA7113","session":"1","sequence":1,"rssi":1}"#,
        ]
    )
    func malformed(_ text: String) {
        #expect(throws: (any Error).self) { try JSONDecoder().decode(LeaseMessage.self, from: Data(text.utf8)) }
    }

    @Test("A will names its session")
    func will() throws {
        let session = SessionID(rawValue: 0xAB)
        let data = try JSONEncoder().encode(GoneSession(session))
        #expect(String(decoding: data, as: UTF8.self) == #"{"session":"00000000000000AB"}"#)
        #expect(try JSONDecoder().decode(GoneSession.self, from: data).id == session)
        #expect(try JSONDecoder().decode(GoneSession.self, from: Data(#"{"session":"x"}"#.utf8)).id == nil)
    }

    @Test("Topics are below one prefix")
    func topics() {
        let topics = LeaseTopics(prefix: "site/ble")
        #expect(topics.lease(of: PeripheralID(rawValue: 0xC4F2_171A_1DBB)) == "site/ble/leases/C4F2171A1DBB")
        #expect(topics.gone(MessageTests.gateway) == "site/ble/gateways/001A7DDA7113/gone")
        #expect(topics.pulse(of: MessageTests.gateway) == "site/ble/gateways/001A7DDA7113/pulse")
    }
}
