public import BLEProtocol
public import BLERadio

/// A simulated radio environment that connects simulated adapters: advertising, scanning, links and their faults.
///
/// ```swift
/// let air = SimulatedAir(time)                        // or SimulatedAir(), in real time
/// let phone = air.adapter(), sensor = air.adapter(name: "sensor")
/// air.setSignal(.metres(4, jitter: 3), between: phone, and: sensor)
/// air.faults.add(.dropLink(after: 12, .notifications), on: sensor)
/// ```
///
/// Each adapter is a complete ``Radio`` in both roles, so a program under test and a simulated peripheral exchange real
/// ATT bytes. In virtual time (``VirtualTime``) the seed determines a run.
///
/// An air lives as long as there is a reference to it, to one of its adapters or to a link.
public final class SimulatedAir: Sendable {
    let core: AirCore

    /// Makes an empty air, by default in real time.
    public init(_ timeline: any Timeline = RealTimeline()) { core = AirCore(timeline: timeline) }

    /// The source of time and randomness of this air.
    public var timeline: any Timeline { core.timeline }

    // MARK: - Adapters

    /// Adds an adapter, plugged in and switched on.
    ///
    /// - Parameters:
    ///   - name: the system's name for it; by default `sim0`, `sim1` and so on.
    ///   - address: its address, which must be new on this air; by default a random static one.
    ///   - settings: how it behaves.
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

    /// The default signal strength between adapters; initially -60 dBm.
    public var defaultSignal: SignalStrength {
        get { core.perform { $0.defaultSignal } }
        set {
            core.perform { state in
                state.defaultSignal = newValue
                state.refreshSilenceOfAllLinks()
            }
        }
    }

    /// Sets the signal strength between two adapters, from now on.
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

    /// The current signal strength between two adapters, including faults.
    public func signal(between first: SimulatedAdapter, and second: SimulatedAdapter) -> SignalStrength {
        core.perform { $0.signal(first.id, second.id) }
    }

    // MARK: - Security

    /// Sets the protection of links between two adapters, including existing ones; initially none.
    ///
    /// A server sees it as if the two had paired; nothing is encrypted.
    public func setSecurity(
        _ security: LinkSecurity,
        between first: SimulatedAdapter,
        and second: SimulatedAdapter
    ) {
        core.perform { $0.setSecurity(security, between: AdapterPair(first.id, second.id)) }
    }

    // MARK: - Faults and traces

    /// The faults of this air.
    public var faults: FaultPlan { FaultPlan(core: core) }

    /// How many records ``trace`` keeps, the newest ones; initially 0.
    public var traceCapacity: Int {
        get { core.perform { $0.trace.capacity } }
        set { core.perform { $0.trace.capacity = max(newValue, 0) } }
    }

    /// The events on the air, oldest first: links made, PDUs, ends. Set ``traceCapacity`` first.
    public var trace: [AirRecord] { core.perform { $0.trace.records } }

    /// Calls the closure with each record as it is made; it must not block or call the air.
    package func observeTrace(_ observer: (@Sendable (AirRecord) -> Void)?) {
        core.perform { $0.trace.observer = observer }
    }

    /// Discards the records of ``trace`` so far.
    public func clearTrace() { core.perform { $0.trace.removeAll() } }
}
