package import BLEProtocol
package import BLERadio

/// A radio whose ATT traffic and advertisements a ``TrafficObserver`` receives; everything else is passed on to the
/// radio that it wraps.
///
/// Programs use ``AdapterChoice/captured(in:)``, ``AdapterChoice/recorded(by:)`` and ``AdapterChoice/reporting(to:)``.
package final class CaptureRadio: Radio {
    fileprivate let radio: any Radio
    private let recorder: any TrafficObserver
    private let adapterState: RadioActivity

    /// Records links made from now on, in either role, and scan reports.
    package convenience init(_ radio: any Radio, capture: TrafficCapture) {
        self.init(radio, CaptureRecorder(capture, timeline: radio.timeline))
    }

    /// Reports links made from now on, in either role, and scan reports to the observer.
    init(_ radio: any Radio, _ observer: any TrafficObserver) {
        self.radio = radio
        recorder = observer
        adapterState = radio.observeAdapter { [recorder] info in recorder.adapter = info }
    }

    /// Reports the radio's events to the handlers of a central.
    func tell(_ board: EventBoard) {
        (recorder as? EventTap)?.tell(board)
        (radio as? CaptureRadio)?.tell(board)
    }

    package var executor: (any TaskExecutor)? { radio.executor }

    package var timeline: any Timeline { radio.timeline }

    package var adapterInfo: AdapterInfo { radio.adapterInfo }

    package func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        radio.observeAdapter(events)
    }

    package func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        radio.observeSymptoms(events)
    }

    package func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity { radio.settle(done) }

    package func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.setPowered(isOn, result: result)
    }

    package func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        radio.powerCycle(result: result)
    }

    package func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        radio.reset(result: result)
    }

    package func readPHYs(result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void) -> RadioActivity {
        radio.readPHYs(result: result)
    }

    package func selectPHYs(
        _ selection: AdapterPHYs.Selection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.selectPHYs(selection, result: result)
    }

    package func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        radio.makeOutOfBandData(result: result)
    }

    package func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        radio.readPrivacy(result: result)
    }

    package func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.setPrivacy(privacy, result: result)
    }

    package func hasLink(to peer: BluetoothAddress) -> Bool { radio.hasLink(to: peer) }

    package var isLinked: Bool { radio.isLinked }

    package func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        radio.scan(request) { [recorder] event in
            switch event {
            case .reports(let reports): recorder.reported(reports)
            case .dropped(let count): recorder.reportsLost(count)
            case .started, .failed: break
            }
            events(event)
        }
    }

    package func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, parameters: nil, result: result)
    }

    package func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        radio.connect(to: peer, parameters: parameters) { [recorder] outcome in
            result(outcome.map { CapturedLink($0, role: .central, recorder) })
        }
    }

    package var connectObstacle: BLEError? { radio.connectObstacle }
    package var pairingObstacle: BLEError? { radio.pairingObstacle }

    package func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        radio.listen { [recorder] event in
            guard case .accepted(let link) = event else { return events(event) }
            events(.accepted(CapturedLink(link, role: .peripheral, recorder)))
        }
    }

    package func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        radio.advertise(request, events: events)
    }

    package func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        radio.pair(with: peer, asking: interview, result: result)
    }

    package func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
        radio.expectPairing(with: peer, as: capability)
    }

    package func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        radio.receivePairings(reception, events: events)
    }

    package func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.restore(bonds, result: result)
    }

    package func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        radio.unpair(peer, result: result)
    }
}

extension CaptureRadio: JoiningRadio {
    var joined: JoinedRadio? { (radio as? any JoiningRadio)?.joined }
}
