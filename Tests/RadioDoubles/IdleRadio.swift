package import BLEProtocol
package import BLERadio

/// A radio of which a test or a benchmark needs a part: what it doesn't say itself does nothing, and never ends.
package protocol IdleRadio: Radio {
    /// The name of its adapter, which is there and on.
    var name: String { get }
}

extension IdleRadio {
    package var name: String { "idle" }
    package var timeline: any Timeline { PatientTimeline() }
    package var adapterInfo: AdapterInfo { AdapterInfo(name: name, address: nil, state: .poweredOn) }

    package func observeAdapter(_ events: @escaping @Sendable (AdapterInfo) -> Void) -> RadioActivity {
        events(adapterInfo)
        return RadioActivity {}
    }

    package func scan(_ request: ScanRequest, events: @escaping @Sendable (ScanEvent) -> Void) -> RadioActivity {
        RadioActivity {}
    }

    package func connect(
        to peer: BluetoothAddress,
        result: @escaping @Sendable (Result<any ATTLink, BLEError>) -> Void
    ) -> RadioActivity { RadioActivity {} }

    package func listen(events: @escaping @Sendable (ListenEvent) -> Void) -> RadioActivity { RadioActivity {} }

    package func advertise(
        _ request: AdvertiseRequest,
        events: @escaping @Sendable (AdvertiseEvent) -> Void
    ) -> RadioActivity { RadioActivity {} }
}
