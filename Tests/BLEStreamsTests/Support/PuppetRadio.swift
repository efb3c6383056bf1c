import BLERadio
import BLESimulator
import BLEStreams
import RadioDoubles
import Synchronization

/// A simulated adapter whose advertising, listening and pairing a test can take away, each by itself.
final class PuppetRadio: RelayingRadio {
    private struct State {
        var listening: (@Sendable (ListenEvent) -> Void)?
        var advertising: (@Sendable (AdvertiseEvent) -> Void)?
        var receiving: (@Sendable (PairingReceptionEvent) -> Void)?
        var links: [any ATTLink] = []
        var restorations = 0
        var obstacle: BLEError?
    }

    let radio: SimulatedAdapter
    private let state = Mutex(State())

    init(_ adapter: SimulatedAdapter) { radio = adapter }

    /// The links that it has accepted.
    var links: [any ATTLink] { state.withLock { $0.links } }

    /// How often it was given the keys of bonds.
    var restorations: Int { state.withLock { $0.restorations } }

    /// Why it takes no keys of bonds; `nil` if it does.
    var obstacleToBonds: BLEError? {
        get { state.withLock { $0.obstacle } }
        set { state.withLock { $0.obstacle = newValue } }
    }

    func tellListener(_ event: ListenEvent) { state.withLock { $0.listening }?(event) }

    func tellAdvertiser(_ event: AdvertiseEvent) { state.withLock { $0.advertising }?(event) }

    func tellPairingReceiver(_ event: PairingReceptionEvent) { state.withLock { $0.receiving }?(event) }

    func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        state.withLock { $0.listening = events }
        return radio.listen { [self] event in
            if case .accepted(let link) = event { state.withLock { $0.links.append(link) } }
            events(event)
        }
    }

    func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        state.withLock { $0.advertising = events }
        return radio.advertise(request, events: events)
    }

    func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        state.withLock { $0.receiving = events }
        return radio.receivePairings(reception, events: events)
    }

    func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        let obstacle = state.withLock { state in
            state.restorations += 1
            return state.obstacle
        }
        guard let obstacle else { return radio.restore(bonds, result: result) }
        return radio.timeline.schedule(after: .zero) { result(.failure(obstacle)) }
    }
}
