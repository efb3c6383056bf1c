internal import BLEProtocol

/// What bluetoothd asks of a program that has registered as its agent, and what it is answered: yes to a pairing with
/// one peer that compares no numbers, no to everything else.
///
/// Source: BlueZ, `doc/org.bluez.Agent.rst`.
struct AgentQuestions: Hashable, Sendable {
    /// What a question means for the pairing.
    enum Meaning: Hashable, Sendable {
        /// It was about our peer, and the answer was yes.
        case agreed
        /// It was about somebody or something else.
        case refused
        /// bluetoothd will ask no more.
        case released
        /// It was no question to the agent.
        case none
    }

    /// Where the agent is found.
    static let path = "/org/blestreams/agent"
    static let interface = "org.bluez.Agent1"

    /// With whom this program pairs.
    let peer: BluetoothAddress
    /// The system's name for the adapter: `hci0`.
    let adapter: String
    /// The bus's own name for bluetoothd: nobody else is answered.
    let bluetoothd: String

    /// Answers a message that came over the bus.
    func answer(to message: BusMessage) -> (reply: BusMessage?, meaning: Meaning) {
        guard message.kind == .call else { return (nil, .none) }
        guard message.sender == bluetoothd, message.path == Self.path, message.interface == Self.interface else {
            let text = "There is nothing here."
            return (message.refusal("org.freedesktop.DBus.Error.UnknownMethod", text), .none)
        }
        switch message.member {
        case "Release": return (message.done, .released)
        case "Cancel": return (message.done, .none)
        // RequestConfirmation compares numbers, and there is nowhere to show them.
        case "RequestAuthorization" where isAboutPeer(message): return (message.done, .agreed)
        default:
            let text = "This program only pairs with \(peer), without numbers."
            return (message.refusal("org.bluez.Error.Rejected", text), .refused)
        }
    }

    private func isAboutPeer(_ message: BusMessage) -> Bool {
        guard message.signature == "o", case .objectPath(let path)? = message.arguments.first else { return false }
        return path == "/org/bluez/\(adapter)/dev_\(peer.underscored)"
    }
}

extension BluetoothAddress {
    /// As bluetoothd writes it in the names of its objects: `C4_F2_17_1A_1D_BB`.
    fileprivate var underscored: String { String(description.map { $0 == ":" ? "_" : $0 }) }
}
