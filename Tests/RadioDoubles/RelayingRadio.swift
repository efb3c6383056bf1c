package import BLEProtocol
package import BLERadio

/// A radio in front of another one, of which a test needs a part to be different: what it doesn't say itself is the
/// other one's, so that no default implementation of `Radio` hides what that one can do.
///
/// A double that connects in another way says so in ``connect(to:parameters:result:)``, to which the other form leads.
package protocol RelayingRadio: Radio {
    associatedtype Inner: Radio
    /// The radio behind it.
    var radio: Inner { get }
}

extension RelayingRadio {
    package var timeline: any Timeline { radio.timeline }
    package var executor: (any TaskExecutor)? { radio.executor }
    package var adapterInfo: AdapterInfo { radio.adapterInfo }
    package var isLinked: Bool { radio.isLinked }
    package var connectObstacle: BLEError? { radio.connectObstacle }
    package var pairingObstacle: BLEError? { radio.pairingObstacle }

    package func hasLink(to peer: BluetoothAddress) -> Bool { radio.hasLink(to: peer) }

    package func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity { radio.settle(done) }

    package func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        radio.observeAdapter(events)
    }

    package func observeSymptoms(_ events: @escaping @Sendable (AdapterInfo.Symptom) -> Void) -> RadioActivity {
        radio.observeSymptoms(events)
    }

    package func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        radio.scan(request, events: events)
    }

    package func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity {
        // Called on `self` alone, it would be this protocol's form, even where the double has its own.
        (self as any Radio).connect(to: peer, parameters: nil, result: result)
    }

    package func connect(
        to peer: BluetoothAddress,
        parameters: ConnectionParameters?,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { radio.connect(to: peer, parameters: parameters, result: result) }

    package func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity {
        radio.listen(events: events)
    }

    package func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity { radio.advertise(request, events: events) }
}

// MARK: - The adapter's settings

extension RelayingRadio {
    package func setPowered(
        _ isOn: Bool,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity { radio.setPowered(isOn, result: result) }

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
    ) -> RadioActivity { radio.selectPHYs(selection, result: result) }

    package func readPrivacy(result: @escaping @Sendable (Result<Bool, BLEError>) -> Void) -> RadioActivity {
        radio.readPrivacy(result: result)
    }

    package func setPrivacy(
        _ privacy: AdapterPrivacy,
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity { radio.setPrivacy(privacy, result: result) }
}

// MARK: - Security

extension RelayingRadio {
    package func pair(
        with peer: BluetoothAddress,
        asking interview: PairingInterview,
        result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity { radio.pair(with: peer, asking: interview, result: result) }

    package func expectPairing(with peer: BluetoothAddress, as capability: PairingCapability) {
        radio.expectPairing(with: peer, as: capability)
    }

    package func makeOutOfBandData(
        result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void
    ) -> RadioActivity { radio.makeOutOfBandData(result: result) }

    package func receivePairings(
        _ reception: PairingReception,
        events: @escaping @Sendable (PairingReceptionEvent) -> Void
    ) -> RadioActivity { radio.receivePairings(reception, events: events) }

    package func restore(
        _ bonds: [Bond],
        result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) -> RadioActivity { radio.restore(bonds, result: result) }

    package func unpair(
        _ peer: BluetoothAddress,
        result: @escaping @Sendable (Result<Bool, BLEError>) -> Void
    ) -> RadioActivity { radio.unpair(peer, result: result) }
}
