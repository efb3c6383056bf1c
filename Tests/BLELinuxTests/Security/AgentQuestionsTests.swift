import BLEProtocol
import Testing

@testable import BLELinux

@Suite struct AgentQuestionsTests {
    private let questions = AgentQuestions(peer: .example, adapter: "hci1", bluetoothd: ":1.7")
    private static let device = "/org/bluez/hci1/dev_C4_F2_17_1A_1D_BB"

    private func question(_ member: String, _ arguments: [BusMessage.Argument], signature: String) -> BusMessage {
        BusMessage(
            kind: .call,
            serial: 42,
            sender: ":1.7",
            path: AgentQuestions.path,
            interface: AgentQuestions.interface,
            member: member,
            signature: signature,
            arguments: arguments
        )
    }

    @Test func `yes to a pairing with the peer`() {
        let (reply, meaning) = questions.answer(
            to: question("RequestAuthorization", [.objectPath(Self.device)], signature: "o")
        )
        #expect(meaning == .agreed)
        #expect(reply?.kind == .reply && reply?.replySerial == 42 && reply?.destination == ":1.7")
    }

    @Test(arguments: [
        ("RequestAuthorization", [BusMessage.Argument.objectPath("/org/bluez/hci1/dev_00_11_22_33_44_55")], "o"),
        ("RequestAuthorization", [.objectPath("/org/bluez/hci0/dev_C4_F2_17_1A_1D_BB")], "o"),
        ("RequestAuthorization", [.string(device)], "s"),
        ("RequestAuthorization", [.objectPath(device), .unsigned32(1)], "ou"),
        ("RequestAuthorization", [], ""),
        ("RequestConfirmation", [.objectPath(device), .unsigned32(123_456)], "ou"),
        ("RequestPasskey", [.objectPath(device)], "o"),
        ("AuthorizeService", [.objectPath(device), .string("180d")], "os"),
        ("Surprise", [.other(97)], "ay"),
    ])
    func `no to everything else`(_ member: String, _ arguments: [BusMessage.Argument], _ signature: String) {
        let (reply, meaning) = questions.answer(to: question(member, arguments, signature: signature))
        #expect(meaning == .refused)
        #expect(reply?.kind == .failure && reply?.errorName == "org.bluez.Error.Rejected" && reply?.replySerial == 42)
    }

    @Test func `nobody but bluetoothd is an authority`() {
        var message = question("RequestAuthorization", [.objectPath(Self.device)], signature: "o")
        message.sender = ":1.8"
        let (reply, meaning) = questions.answer(to: message)
        #expect(meaning == .none && reply?.kind == .failure && reply?.destination == ":1.8")
    }

    @Test func `another object, another interface or a signal is no question`() {
        var message = question("RequestAuthorization", [.objectPath(Self.device)], signature: "o")
        message.path = "/"
        #expect(questions.answer(to: message).meaning == .none)
        message.path = AgentQuestions.path
        message.interface = nil
        #expect(questions.answer(to: message).reply?.kind == .failure)
        message.kind = .signal
        #expect(questions.answer(to: message).reply == nil)
    }

    @Test func `Release and Cancel are acknowledged`() {
        let released = questions.answer(to: question("Release", [], signature: ""))
        #expect(released.meaning == .released && released.reply?.kind == .reply)
        let cancelled = questions.answer(to: question("Cancel", [], signature: ""))
        #expect(cancelled.meaning == .none && cancelled.reply?.kind == .reply)
    }
}
