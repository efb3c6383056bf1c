public import BLERadio

/// The adapter to use.
public struct AdapterChoice: Sendable {
    /// Whether it belongs to this machine: what is learned of its peers is then worth keeping.
    let isOfThisMachine: Bool
    /// The handlers that are told of events.
    let events: [any EventHandler]
    let makeRadio: @Sendable () throws -> any Radio
    /// Makes a radio whose adapter may be absent.
    let awaitRadio: @Sendable () throws -> any Radio

    init(
        isOfThisMachine: Bool,
        events: [any EventHandler] = [],
        awaitRadio: (@Sendable () throws -> any Radio)? = nil,
        makeRadio: @escaping @Sendable () throws -> any Radio
    ) {
        self.isOfThisMachine = isOfThisMachine
        self.events = events
        self.makeRadio = makeRadio
        self.awaitRadio = awaitRadio ?? makeRadio
    }

    /// The first adapter that is switched on, otherwise the first one present.
    public static let `default` = AdapterChoice(
        isOfThisMachine: true,
        awaitRadio: { try MachineRadio.await(nil) },
        makeRadio: { try MachineRadio.open(nil) }
    )

    /// The adapter with this name: `hci1`. Once found, it is identified by its address, so after being plugged in again
    /// it is found under another name too. Rewriting its address while it is plugged in changes nothing.
    public static func adapter(_ name: String) -> AdapterChoice {
        AdapterChoice(
            isOfThisMachine: true,
            awaitRadio: { try MachineRadio.await(name) },
            makeRadio: { try MachineRadio.open(name) }
        )
    }

    /// A radio that is already open, such as an adapter of a simulated air.
    public static func radio(_ radio: any Radio) -> AdapterChoice {
        AdapterChoice(isOfThisMachine: false) { radio }
    }
}
