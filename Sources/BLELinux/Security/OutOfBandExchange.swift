internal import BLEProtocol

/// Makes the kernel generate out-of-band data, or use a peer's for a pairing.
struct OutOfBandExchange: Sendable {
    let management: ManagementSocket
    let adapter: LinuxAdapter
    let leftovers: Leftovers
    /// Pairings need LE Secure Connections too: whoever ends last switches them off.
    let settings: PairingSettings

    private static let operation = "make out-of-band data"

    /// Makes data, on the loop's thread. Without LE Secure Connections the kernel makes none, so they are switched on
    /// for it, and that is noted until they are off again.
    func make(_ result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void) {
        settings.retain()
        begin { [settings] outcome in settings.release { result(outcome) } }
    }

    private func begin(_ result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void) {
        management.submit(ManagementReadInformation()) { [self] answer in
            switch answer {
            case .failure(let failure): result(.failure(error(failure)))
            case .success(let information) where information.current.contains(.privacy):
                result(.failure(.outOfBandDataTellsAddress(of: adapter.name)))
            case .success(let information):
                let missing = PairingSwitch.missing(in: information)
                guard missing.contains(.secureConnections) else { return read(result) }
                let note = adapter.facts.flatMap { leftovers.note(KernelThing(.secureConnections, 0, of: $0)) }
                PairingSwitch.secureConnections.set(true, management) { failure in
                    // If the kernel has refused, they stay as they are at the end: a pairing may have switched them on.
                    if failure?.status == nil { settings.keep(.secureConnections, note) } else { note?.forget() }
                    read(result)
                }
            }
        }
    }

    private func read(_ result: @escaping @Sendable (Result<OutOfBandData, BLEError>) -> Void) {
        management.submit(ManagementReadLocalOutOfBandData()) { [self] answer in
            switch answer {
            case .failure(let failure) where failure.status == .notSupported:
                result(.failure(.lacksOutOfBandData(adapter.name)))
            case .failure(let failure): result(.failure(error(failure)))
            case .success(let response):
                let data = OutOfBandData(octets: response.data.bytes)
                result(data.map { .success($0) } ?? .failure(.lacksOutOfBandData(adapter.name)))
            }
        }
    }

    private func error(_ failure: ManagementFailure) -> BLEError {
        failure.error(operation: Self.operation, object: "on \(adapter.name)", adapter: adapter)
    }
}

extension BLEError {
    fileprivate static func lacksOutOfBandData(_ adapter: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: "make out-of-band data",
            object: "on \(adapter)",
            cause:
                "the kernel makes none for this controller, which lacks Secure Simple Pairing or LE Secure Connections",
            remedy: "Use the other device's out-of-band data here, or pair with a passkey or by comparing numbers."
        )
    }

    fileprivate static func outOfBandDataTellsAddress(of adapter: String) -> BLEError {
        BLEError(
            .notSupported,
            operation: "make out-of-band data",
            object: "on \(adapter)",
            cause: "the data includes the adapter's address, and this adapter uses private addresses",
            remedy: "Use the other device's data here, or switch privacy off with Central.setPrivacy(false)."
        )
    }
}
