public import BLEProtocol

/// An event on a simulated air, as kept by ``SimulatedAir/trace``.
///
/// Its description names opcodes and sizes, never values.
public struct AirRecord: Hashable, Sendable {
    /// The outcome of a PDU.
    public enum Fate: String, Hashable, Sendable, CaseIterable {
        /// It arrived.
        case delivered
        /// It arrived late, because of the fault plan.
        case delayed
        /// It arrived after PDUs that were sent after it, because of the fault plan.
        case overtaken
        /// It arrived with changed octets, because of the fault plan; the record has those that arrived.
        case altered
        /// A further copy arrived, because of the fault plan.
        case duplicated
        /// The fault plan took it off the air.
        case swallowed
        /// It arrived at an adapter without room, because of the fault plan; the receiver was told how many.
        case overflowed
    }

    /// What happened.
    public enum Event: Hashable, Sendable {
        /// A link was made.
        case connected(central: BluetoothAddress, peripheral: BluetoothAddress)
        /// One side sent a PDU.
        case pdu([UInt8], from: LinkRole, fate: Fate)
        /// The link ended for one side.
        case ended(LinkRole, DisconnectReason)
    }

    /// When it happened, on the air's timeline.
    public var time: Duration

    /// The link's number: 0 for the first link of the air.
    public var link: Int

    /// What happened.
    public var event: Event

    /// The PDU's octets; `nil` for other events.
    public var pdu: [UInt8]? {
        if case .pdu(let octets, _, _) = event { octets } else { nil }
    }

    /// The sender of the PDU; `nil` for other events.
    public var sender: LinkRole? {
        if case .pdu(_, let sender, _) = event { sender } else { nil }
    }
}

extension AirRecord: CustomStringConvertible {
    /// One line: `1.5 seconds, link 0: central sent Read Request (0x0A), 3 octets`.
    public var description: String {
        let what =
            switch event {
            case .connected(let central, let peripheral):
                "\(central) connected to \(peripheral)"
            case .pdu(let octets, let sender, let fate):
                "\(sender.rawValue) sent \(octets.first.map { "\(ATTOpcode(rawValue: $0))" } ?? "nothing"), "
                    + "\(octets.count) octets" + (fate == .delivered ? "" : ": \(fate.rawValue)")
            case .ended(let role, let reason):
                "ended for the \(role.rawValue): \(reason)"
            }
        return "\(time), link \(link): \(what)"
    }
}
