import BLERadio
import BLESimulator
import BLEStreams
import Synchronization

/// A simulated adapter whose advertising, listening and pairing a test can take away, each by itself.
final class PuppetRadio: Radio {
    private struct State {
        var listening: (@Sendable (ListenEvent) -> Void)?
        var advertising: (@Sendable (AdvertiseEvent) -> Void)?
        var receiving: (@Sendable (PairingReceptionEvent) -> Void)?
        var links: [any ATTLink] = []
    }

    private let adapter: SimulatedAdapter
    private let state = Mutex(State())

    init(_ adapter: SimulatedAdapter) { self.adapter = adapter }

    /// The links that it has accepted.
    var links: [any ATTLink] { state.withLock { $0.links } }

    func tellListener(_ event: ListenEvent) { state.withLock { $0.listening }?(event) }

    func tellAdvertiser(_ event: AdvertiseEvent) { state.withLock { $0.advertising }?(event) }

    func tellPairingReceiver(_ event: PairingReceptionEvent) { state.withLock { $0.receiving }?(event) }

    var timeline: any Timeline { adapter.timeline }
    var adapterInfo: AdapterInfo { adapter.adapterInfo }

    func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        adapter.observeAdapter(events)
    }

    func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        adapter.scan(request, events: events)
    }

    func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { adapter.connect(to: peer, result: result) }

    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        state.withLock { $0.listening = events }
        return adapter.listen { [self] event in
            if case .accepted(let link) = event { state.withLock { $0.links.append(link) } }
            events(event)
        }
    }

    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        state.withLock { $0.advertising = events }
        return adapter.advertise(request, events: events)
    }

    func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        state.withLock { $0.receiving = events }
        return adapter.receivePairings(reception, events: events)
    }
}
