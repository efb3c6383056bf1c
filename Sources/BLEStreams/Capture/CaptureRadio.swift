public import BLEProtocol
public import BLERadio

/// A radio that records its ATT traffic and advertisements; everything else is passed on to the radio it wraps.
///
/// Most programs use ``AdapterChoice/captured(in:)``, which makes it.
public final class CaptureRadio: Radio {
    fileprivate let radio: any Radio
    private let recorder: CaptureRecorder
    private let adapterState: RadioActivity

    /// Records links made from now on, in either role, and scan reports.
    public init(_ radio: any Radio, capture: Capture) {
        self.radio = radio
        recorder = CaptureRecorder(capture, timeline: radio.timeline)
        adapterState = radio.observeAdapter { [recorder] info in recorder.adapter = info }
    }

    public var executor: (any TaskExecutor)? { radio.executor }

    public var timeline: any Timeline { radio.timeline }

    public var adapterInfo: AdapterInfo { radio.adapterInfo }

    public func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        radio.observeAdapter(events)
    }

    public func observeSymptoms(_ events: @escaping @Sendable (AdapterSymptom) -> Void) -> RadioActivity {
        radio.observeSymptoms(events)
    }

    public func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity { radio.settle(done) }

    public func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.setPowered(isOn, result: result)
    }

    public func powerCycle(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        radio.powerCycle(result: result)
    }

    public func reset(result: @escaping @Sendable (Result<Void, BLEError>) -> Void) -> RadioActivity {
        radio.reset(result: result)
    }

    public func readPHYs(result: @escaping @Sendable (Result<AdapterPHYs, BLEError>) -> Void) -> RadioActivity {
        radio.readPHYs(result: result)
    }

    public func selectPHYs(
        _ selection: PHYSelection,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.selectPHYs(selection, result: result)
    }

    public func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity {
        radio.makeOutOfBandData(result: result)
    }

    public func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        radio.readPrivacy(result: result)
    }

    public func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.setPrivacy(privacy, result: result)
    }

    public func hasLink(to peer: BluetoothAddress) -> Bool { radio.hasLink(to: peer) }

    public func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        radio.scan(request) { [recorder] event in
            switch event {
            case .reports(let reports): recorder.reported(reports)
            case .dropped(let count): recorder.reportsLost(count)
            case .started, .failed: break
            }
            events(event)
        }
    }

    public func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        connect(to: peer, parameters: nil, result: result)
    }

    public func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        radio.connect(to: peer, parameters: parameters) { [recorder] outcome in
            result(outcome.map { CapturedLink($0, role: .central, recorder) })
        }
    }

    public var connectObstacle: BLEError? { radio.connectObstacle }

    public func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        radio.listen { [recorder] event in
            guard case .accepted(let link) = event else { return events(event) }
            events(.accepted(CapturedLink(link, role: .peripheral, recorder)))
        }
    }

    public func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity {
        radio.advertise(request, events: events)
    }

    public func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        radio.pair(with: peer, asking: interview, result: result)
    }

    public func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
        radio.expectPairing(with: peer, as: capability)
    }

    public func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity {
        radio.receivePairings(reception, events: events)
    }

    public func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity {
        radio.restore(bonds, result: result)
    }

    public func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity {
        radio.unpair(peer, result: result)
    }
}

extension CaptureRadio: JoiningRadio {
    var joined: JoinedRadio? { (radio as? any JoiningRadio)?.joined }
}
