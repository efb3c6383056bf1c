internal import BLEProtocol
internal import BLERadio

/// The environment of a link without a controller: it knows nothing, and can change nothing. A protocol of its own, so
/// that a radio with a controller can't inherit these answers by forgetting its own.
protocol EnvironmentWithoutController: LinkEnvironment {}

extension EnvironmentWithoutController {
    // MARK: - What is known

    func readConditions(
        of peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (LinkConditions) -> Void
    ) { result(LinkConditions()) }

    func observeConditions(handle: UInt16, _ changed: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func readEnd(
        ofLinkTo peer: BluetoothAddress,
        _ result: @escaping @Sendable (ManagementDisconnectReason?) -> Void
    ) { result(nil) }

    func hasKey(of peer: BluetoothAddress) -> Bool { false }

    func keyLevel(of peer: BluetoothAddress) -> LinkSecurity.Level? { nil }

    func hasForeignKey(of peer: BluetoothAddress) -> Bool { false }

    func observeKeys(of peer: BluetoothAddress, _ made: @escaping @Sendable () -> Void) -> RadioActivity {
        RadioActivity {}
    }

    func watchBonds(of peer: BluetoothAddress, _ made: @escaping @Sendable (Bond) -> Void) -> RadioActivity {
        RadioActivity {}
    }

    // MARK: - What only a controller can do

    func request(
        _ parameters: ConnectionParameters,
        for peer: BluetoothAddress,
        handle: UInt16?,
        _ result: @escaping @Sendable (Result<Void, BLEError>) -> Void
    ) { result(.failure(.parametersNotChanged(peer))) }

    func pairAnew(
        with peer: BluetoothAddress,
        to level: LinkSecurity.Level,
        asking interview: PairingInterview,
        _ result: @escaping @Sendable (Result<Bond?, BLEError>) -> Void
    ) -> RadioActivity {
        result(.failure(.missingCapability(.networkAdministration, operation: "pair", object: "with \(peer)")))
        return RadioActivity {}
    }
}
