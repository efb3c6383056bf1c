/// What a gateway does now, in this order: it stops before it speaks, and speaks before it acts.
public struct LeaseEffects: Equatable, Sendable {
    /// A peripheral, and the epoch to act by.
    public struct Tenure: Hashable, Sendable {
        /// The peripheral.
        public var peripheral: PeripheralID
        /// The epoch of everything published about it from now on.
        public var epoch: Epoch
    }

    /// A message to publish, with quality of service 1.
    public struct Publication: Hashable, Sendable {
        /// The peripheral on whose topic it is.
        public var peripheral: PeripheralID
        /// What to publish; ``LeaseMessage/isRetained`` says how.
        public var message: LeaseMessage
    }

    /// When to give a timer back, on the gateway's monotonic clock. It replaces the one of the same name.
    public struct Alarm: Hashable, Sendable {
        /// Which one.
        public var timer: LeaseTimer
        /// When.
        public var time: Milliseconds
    }

    /// Stop acting on these peripherals.
    public var release: [PeripheralID] = []
    /// Unsubscribe from the topics of these peripherals.
    public var unsubscribe: [PeripheralID] = []
    /// Unsubscribe from the wills of these gateways.
    public var unwatch: [GatewayID] = []
    /// Subscribe to the topics of these peripherals.
    public var subscribe: [PeripheralID] = []
    /// Subscribe to the wills of these gateways.
    public var watch: [GatewayID] = []
    /// Publish these, in order.
    public var publish: [Publication] = []
    /// Publish this number to the gateway's own pulse topic, after the messages above.
    public var pulse: UInt64?
    /// Act on these peripherals, or go on by another epoch.
    public var acquire: [Tenure] = []
    /// Store this number durably, and tell how it went.
    public var store: UInt64?
    /// Set these timers.
    public var alarms: [Alarm] = []

    /// Nothing to do.
    public init() {}
}
