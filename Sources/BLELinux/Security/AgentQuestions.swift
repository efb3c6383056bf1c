internal import BLEProtocol
internal import BLERadio

/// What bluetoothd asks a program that has registered as its agent: questions about the pairing with one peer, or with
/// any peer on one adapter, are answered later by that program; everything else is refused.
///
/// Source: BlueZ, `doc/org.bluez.Agent.rst`.
struct AgentQuestions: Hashable, Sendable {
    /// What a question means for the pairing.
    enum Meaning: Hashable, Sendable {
        /// It is about this peer, whose kind of address bluetoothd doesn't report, and waits for its answer.
        case asked(octets: UInt64, isConsent: Bool)
        /// It was about another peer or something else.
        case refused
        /// bluetoothd no longer needs the answer to its question.
        case withdrawn
        /// bluetoothd will ask no more: it has said so, or is gone.
        case released
        /// It was not a question to the agent, or needs no answer.
        case none
    }

    /// The object path of the agent.
    static let path = "/org/blestreams/agent"
    static let interface = "org.bluez.Agent1"

    /// The device that this program pairs with; `nil`: any device.
    let peer: BluetoothAddress?
    /// The system's name for the adapter: `hci0`.
    let adapter: String
    /// bluetoothd's unique name on the bus: only bluetoothd gets answers.
    let bluetoothd: String

    /// Answers a message from the bus, unless it is a question to the program.
    ///
    /// - Parameter octets: those of the address that the device has, if it was looked up; `nil`: those in its path.
    func answer(to message: BusMessage, about octets: UInt64? = nil) -> (reply: BusMessage?, meaning: Meaning) {
        guard message.kind == .call else { return (nil, .none) }
        guard isFromBluetoothd(message) else {
            let text = "There is nothing here."
            return (message.refusal("org.freedesktop.DBus.Error.UnknownMethod", text), .none)
        }
        switch (message.member, message.signature) {
        case ("Release", _): return (message.done, .released)
        case ("Cancel", _): return (message.done, .withdrawn)
        case ("RequestAuthorization", "o"):
            if let octets = peer(of: message, octets) { return (nil, .asked(octets: octets, isConsent: true)) }
        case ("RequestConfirmation", "ou"), ("RequestPasskey", "o"):
            if let octets = peer(of: message, octets) { return (nil, .asked(octets: octets, isConsent: false)) }
        // The kernel has told this program the same passkey.
        case ("DisplayPasskey", "ouq"): if peer(of: message, octets) != nil { return (message.done, .none) }
        default: break
        }
        let others = peer.map { "only pairs with \($0)" } ?? "only pairs with centrals that connect to it"
        return (message.refusal("org.bluez.Error.Rejected", "This program \(others)."), .refused)
    }

    /// The answer to a question of bluetoothd.
    static func reply(to message: BusMessage, _ answer: PairingQuestion.Answer) -> BusMessage {
        switch (message.member, answer) {
        case ("RequestPasskey", .passkey(let passkey)):
            var reply = message.done
            reply.arguments = [.unsigned32(passkey)]
            return reply
        case ("RequestAuthorization", .accept), ("RequestConfirmation", .accept): return message.done
        default: return message.refusal("org.bluez.Error.Rejected", "It was not agreed to.")
        }
    }

    /// The path of the device that a message asks about, if its address has to be looked up there.
    ///
    /// bluetoothd keeps the path under which it came to know a device: after a pairing over a private address, that has
    /// this address for as long as bluetoothd runs, and everybody else names the device by the identity that it has
    /// told. Source: BlueZ, `src/device.c`, `device_update_addr`.
    func pathToLookUp(in message: BusMessage) -> String? {
        guard message.kind == .call, isFromBluetoothd(message), let member = message.member,
            Self.questions.contains(member), case .objectPath(let path)? = message.arguments.first,
            let octets = Bluetoothd.privateDevice(at: path, of: adapter), peer?.rawValue != octets
        else { return nil }
        return path
    }

    /// The questions that are about a device, and wait for an answer.
    private static let questions: Set<String> = ["RequestAuthorization", "RequestConfirmation", "RequestPasskey"]

    private func isFromBluetoothd(_ message: BusMessage) -> Bool {
        message.sender == bluetoothd && message.path == Self.path && message.interface == Self.interface
    }

    /// The octets of the address that a question is about; `nil` if this program isn't pairing with it.
    ///
    /// - Parameter known: those that were looked up.
    private func peer(of message: BusMessage, _ known: UInt64?) -> UInt64? {
        guard case .objectPath(let path)? = message.arguments.first,
            let octets = known ?? Bluetoothd.device(at: path, of: adapter), peer == nil || peer?.rawValue == octets
        else { return nil }
        return octets
    }
}

extension PairingCapability {
    /// bluetoothd's name for the capability.
    var agentName: String {
        switch self {
        case .displayOnly: "DisplayOnly"
        case .displayYesNo: "DisplayYesNo"
        case .keyboardOnly: "KeyboardOnly"
        case .noInputNoOutput: "NoInputNoOutput"
        case .keyboardDisplay: "KeyboardDisplay"
        }
    }
}
