import BLEProtocol
import BLERadio
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

    @Test(arguments: [
        ("RequestAuthorization", [BusMessage.Argument.objectPath(device)], "o", true),
        ("RequestConfirmation", [.objectPath(device), .unsigned32(123_456)], "ou", false),
        ("RequestPasskey", [.objectPath(device)], "o", false),
    ])
    func `what is about the pairing is a question to the program`(
        _ member: String,
        _ arguments: [BusMessage.Argument],
        _ signature: String,
        _ isConsent: Bool
    ) {
        let message = question(member, arguments, signature: signature)
        let (reply, meaning) = questions.answer(to: message)
        #expect(reply == nil && meaning == .asked(octets: BluetoothAddress.example.rawValue, isConsent: isConsent))
        let no = AgentQuestions.reply(to: message, .refuse(.refused))
        #expect(no.errorName == "org.bluez.Error.Rejected" && no.replySerial == 42)
        let yes = AgentQuestions.reply(to: message, member == "RequestPasskey" ? .passkey(7) : .accept)
        #expect(yes.kind == .reply && yes.replySerial == 42 && yes.destination == ":1.7")
        #expect(yes.arguments == (member == "RequestPasskey" ? [.unsigned32(7)] : []))
    }

    @Test func `an answer to another question is a no`() {
        let authorization = question("RequestAuthorization", [.objectPath(Self.device)], signature: "o")
        #expect(AgentQuestions.reply(to: authorization, .passkey(7)).kind == .failure)
        let passkey = question("RequestPasskey", [.objectPath(Self.device)], signature: "o")
        #expect(AgentQuestions.reply(to: passkey, .accept).kind == .failure)
    }

    @Test func `a passkey to show is taken note of: the kernel has told it too`() {
        let arguments: [BusMessage.Argument] = [.objectPath(Self.device), .unsigned32(123_456), .other(113)]
        let (reply, meaning) = questions.answer(to: question("DisplayPasskey", arguments, signature: "ouq"))
        #expect(reply?.kind == .reply && meaning == .none)
    }

    @Test(arguments: [
        ("RequestAuthorization", [BusMessage.Argument.objectPath("/org/bluez/hci1/dev_00_11_22_33_44_55")], "o"),
        ("RequestAuthorization", [.objectPath("/org/bluez/hci0/dev_C4_F2_17_1A_1D_BB")], "o"),
        ("RequestAuthorization", [.string(device)], "s"),
        ("RequestAuthorization", [.objectPath(device), .unsigned32(1)], "ou"),
        ("RequestAuthorization", [], ""),
        ("RequestConfirmation", [.objectPath("/org/bluez/hci1/dev_00_11_22_33_44_55"), .unsigned32(1)], "ou"),
        ("RequestPasskey", [.objectPath("/org/bluez/hci1/dev_00_11_22_33_44_55")], "o"),
        ("RequestPinCode", [.objectPath(device)], "o"),
        ("AuthorizeService", [.objectPath(device), .string("180d")], "os"),
        ("Surprise", [.other(97)], "ay"),
    ])
    func `no to everything else`(_ member: String, _ arguments: [BusMessage.Argument], _ signature: String) {
        let (reply, meaning) = questions.answer(to: question(member, arguments, signature: signature))
        #expect(meaning == .refused)
        #expect(reply?.kind == .failure && reply?.errorName == "org.bluez.Error.Rejected" && reply?.replySerial == 42)
    }

    @Test(arguments: [
        ("RequestAuthorization", "5A_11_22_33_44_55", true), ("RequestPasskey", "7F_11_22_33_44_55", true),
        ("RequestConfirmation", "C4_F2_17_1A_1D_BB", false), ("RequestPasskey", "00_11_22_33_44_55", false),
        ("RequestPasskey", "D0_11_22_33_44_55", false), ("DisplayPasskey", "5A_11_22_33_44_55", false),
    ])
    func `a path with a private address says only what a device was called once`(
        _ member: String,
        _ address: String,
        _ isFormer: Bool
    ) {
        let path = "/org/bluez/hci1/dev_\(address)"
        var message = question(member, [.objectPath(path)], signature: "o")
        #expect(questions.pathToLookUp(in: message) == (isFormer ? path : nil))
        // Who pairs with anybody knows nobody's address before.
        let ofAnybody = AgentQuestions(peer: nil, adapter: "hci1", bluetoothd: ":1.7")
        #expect(ofAnybody.pathToLookUp(in: message) == (isFormer ? path : nil))
        message.sender = ":1.8"
        #expect(questions.pathToLookUp(in: message) == nil)
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

    @Test(arguments: [
        ("org.freedesktop.DBus", ["org.bluez", "", ":1.7"], true),
        ("org.freedesktop.DBus", ["org.bluez", ":1.3", ":1.7"], true),
        ("org.freedesktop.DBus", ["org.bluez", ":1.7", ""], false),
        ("org.freedesktop.DBus", ["org.example", "", ":1.7"], false),
        ("org.freedesktop.DBus", ["org.bluez", ""], false), (":1.8", ["org.bluez", "", ":1.7"], false),
    ])
    func `a bluetoothd that comes is told from one that goes, and from others`(
        _ sender: String,
        _ words: [String],
        _ isArrival: Bool
    ) {
        let message = BusMessage(
            kind: .signal,
            serial: 3,
            sender: sender,
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: "NameOwnerChanged",
            signature: String(repeating: "s", count: words.count),
            arguments: words.map { .string($0) }
        )
        #expect(BluetoothdWatch.tellsOfArrival(message) == isArrival)
    }

    @Test func `Release and Cancel are acknowledged`() {
        let released = questions.answer(to: question("Release", [], signature: ""))
        #expect(released.meaning == .released && released.reply?.kind == .reply)
        let cancelled = questions.answer(to: question("Cancel", [], signature: ""))
        #expect(cancelled.meaning == .withdrawn && cancelled.reply?.kind == .reply)
    }
}
