/// The fencing token of one tenure: it is part of every value that the owner publishes.
///
/// It carries its gateway, so two gateways never have the same epoch, whatever the broker forgets. A consumer keeps the
/// highest epoch of each peripheral, and drops a value with a lower one.
public struct Epoch: Hashable, Comparable, Sendable {
    /// Grows with each tenure, from 1 to ``limit``.
    public var number: UInt64
    /// The owner.
    public var gateway: GatewayID

    /// Makes an epoch.
    public init(number: UInt64, gateway: GatewayID) {
        self.number = number
        self.gateway = gateway
    }

    /// The highest number: JSON has no larger integers that every reader keeps exactly.
    public static let limit: UInt64 = 1 << 53 - 1

    /// Lower than every epoch.
    public static let none = Epoch(number: 0, gateway: GatewayID(rawValue: 0))

    /// Whether its number is one that a gateway may use.
    public var isUsable: Bool { number >= 1 && number <= Epoch.limit }

    public static func < (left: Epoch, right: Epoch) -> Bool {
        (left.number, left.gateway) < (right.number, right.gateway)
    }
}
