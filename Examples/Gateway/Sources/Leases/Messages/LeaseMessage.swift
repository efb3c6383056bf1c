/// A retained message on the topic of a peripheral: who owns it, or no longer does.
public struct LeaseRecord: Hashable, Sendable {
    /// What a record states.
    public enum State: Hashable, Sendable {
        /// The gateway of the epoch owns the peripheral, or asks to.
        case held
        /// The gateway of the epoch no longer owns it. If another gateway is named, that one may claim first.
        case released(to: GatewayID?)
    }

    /// The epoch, and with it the gateway.
    public var epoch: Epoch
    /// The name of this record.
    public var mark: Mark
    /// The record that this one replaces; `nil`: there is none. If the broker has put another one between, this record
    /// is void.
    public var after: Mark?
    /// How strongly the gateway receives the peripheral, in dBm.
    public var strength: Int
    /// What the record states.
    public var state: State

    /// Makes a record.
    public init(epoch: Epoch, mark: Mark, after: Mark?, strength: Int, state: State = .held) {
        self.epoch = epoch
        self.mark = mark
        self.after = after
        self.strength = strength
        self.state = state
    }

    /// Whether the peripheral is free by this record.
    public var isReleased: Bool { state != .held }
}

/// A gateway asks the owner for a peripheral that it receives better.
public struct LeaseBid: Hashable, Sendable {
    /// The tenure that is to end.
    public var epoch: Epoch
    /// Who asks.
    public var gateway: GatewayID
    /// How strongly it receives the peripheral, in dBm.
    public var strength: Int

    /// Makes a bid.
    public init(epoch: Epoch, gateway: GatewayID, strength: Int) {
        self.epoch = epoch
        self.gateway = gateway
        self.strength = strength
    }
}

/// A message on the topic of a peripheral.
public enum LeaseMessage: Hashable, Sendable {
    /// A claim, a renewal or a release. It is published as retained.
    case record(LeaseRecord)
    /// A request to the owner. It isn't retained.
    case bid(LeaseBid)
    /// A reminder that the peripheral has had this epoch: the broker has forgotten it. It isn't retained.
    case note(Epoch)

    /// Whether it is published as retained.
    public var isRetained: Bool {
        if case .record = self { true } else { false }
    }
}
