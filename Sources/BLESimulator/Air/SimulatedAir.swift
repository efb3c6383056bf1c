public import BLEProtocol
public import BLERadio

/// A place in which simulated adapters hear each other: advertising, scanning, links and what goes wrong with them.
///
/// ```swift
/// let air = SimulatedAir(time)                        // or SimulatedAir(), in real time
/// let phone = air.adapter(), sensor = air.adapter(name: "sensor")
/// air.setSignal(.metres(4, jitter: 3), between: phone, and: sensor)
/// air.faults.add(.dropLink(after: 12, .notifications), on: sensor)
/// ```
///
/// Each adapter is a complete ``Radio`` in both roles, so a program under test and a simulated peripheral meet with
/// real ATT bytes between them. In virtual time (``VirtualTime``) a run is decided by its seed.
///
/// An air lives as long as anybody holds it, one of its adapters or a link.
public final class SimulatedAir: Sendable {
    let core: AirCore

    /// Makes an empty air, in real time unless told otherwise.
    public init(_ timeline: any Timeline = RealTimeline()) { core = AirCore(timeline: timeline) }

    /// The time and chance by which everything on this air happens.
    public var timeline: any Timeline { core.timeline }

    // MARK: - Adapters

    /// Adds an adapter, plugged in and switched on.
    ///
    /// - Parameters:
    ///   - name: The system's name for it; `sim0`, `sim1` and so on unless told otherwise.
    ///   - address: Its address, which must be new on this air; a random static one unless told otherwise.
    ///   - settings: How it behaves.
    public func adapter(
        name: String? = nil,
        address: BluetoothAddress? = nil,
        settings: AdapterSettings = AdapterSettings()
    ) -> SimulatedAdapter {
        let (id, record) = core.perform { state in
            let id = state.addAdapter(name: name, address: address, settings: settings)
            return (id, state.adapters[id])
        }
        return SimulatedAdapter(core: core, id: id, name: record.name, address: record.address)
    }

    // MARK: - Signals

    /// How well adapters hear each other where nothing else was set; -60 dBm to begin with.
    public var defaultSignal: SignalStrength {
        get { core.perform { $0.defaultSignal } }
        set {
            core.perform { state in
                state.defaultSignal = newValue
                state.refreshSilenceOfAllLinks()
            }
        }
    }

    /// Sets how well two adapters hear each other, from now on.
    public func setSignal(
        _ signal: SignalStrength,
        between first: SimulatedAdapter,
        and second: SimulatedAdapter
    ) {
        core.perform { state in
            state.signals[AdapterPair(first.id, second.id)] = signal
            state.refreshSilence(between: first.id, and: second.id)
        }
    }

    /// How well two adapters hear each other now, faults considered.
    public func signal(between first: SimulatedAdapter, and second: SimulatedAdapter) -> SignalStrength {
        core.perform { $0.signal(first.id, second.id) }
    }

    // MARK: - Security

    /// Sets how links between two adapters are protected, those that stand included; unprotected to begin with.
    ///
    /// It is what a server sees and asks for, as if the two had paired; nothing is encrypted.
    public func setSecurity(
        _ security: LinkSecurity,
        between first: SimulatedAdapter,
        and second: SimulatedAdapter
    ) {
        core.perform { $0.securities[AdapterPair(first.id, second.id)] = security }
    }

    // MARK: - Faults and traces

    /// What goes wrong on this air.
    public var faults: FaultPlan { FaultPlan(core: core) }

    /// How many records ``trace`` keeps, the newest; 0 to begin with: none.
    public var traceCapacity: Int {
        get { core.perform { $0.trace.capacity } }
        set { core.perform { $0.trace.capacity = max(newValue, 0) } }
    }

    /// What went over the air, oldest first: links made, PDUs, ends. Set ``traceCapacity`` before.
    public var trace: [AirRecord] { core.perform { $0.trace.records } }

    /// Has each record told as it is made; the closure must not block, nor ask anything of the air.
    package func observeTrace(_ observer: (@Sendable (AirRecord) -> Void)?) {
        core.perform { $0.trace.observer = observer }
    }

    /// Throws away what ``trace`` has kept so far.
    public func clearTrace() { core.perform { $0.trace.removeAll() } }
}
