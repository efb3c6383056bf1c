import BLEProtocol
import BLERadio

@testable import BLELinux

/// Pairings that are received, and what is told of them.
extension FakeRun {
    /// Answers the pairings of centrals from now on.
    ///
    /// - Parameter outOfBand: a central's data.
    func receive(
        _ interview: PairingInterview,
        outOfBand: OutOfBandData? = nil,
        on radio: LinuxRadio,
        _ events: Collector<PairingReceptionEvent>
    ) async -> RadioActivity {
        let reception = PairingReception(interview.capability, outOfBand: outOfBand) { _ in interview }
        let receiving = radio.receivePairings(reception) { events.add($0) }
        await kernel.idle()
        return receiving
    }
}

extension FakeRun.Collector where Event == PairingReceptionEvent {
    /// Whom there is a bond with.
    var bonds: [BluetoothAddress] {
        all.compactMap { if case .paired(.example, let bond?) = $0 { bond.peer } else { nil } }
    }

    var failures: [BLEError] {
        all.compactMap { if case .failed(.example, let error) = $0 { error } else { nil } }
    }
}

extension PairingInterview {
    /// Accepts each comparison of numbers.
    static let accepting = PairingInterview(.displayYesNo) { _, reply in reply(.accept) }
}
