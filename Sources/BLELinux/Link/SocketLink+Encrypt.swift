internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    /// The kernel encrypts when it is asked for a security level, and makes the socket writable again when it has. A
    /// refusal is told nowhere, but for the end of the link: whoever asks sets a limit of time.
    func encrypt(_ result: @escaping @Sendable (Result<Void, BLEError>) -> Void) {
        let outcome: Result<Void, BLEError>? = state.withLock { state in
            guard let socket = state.socket, !state.phase.isOver else { return .failure(.encryptionFailed(peer)) }
            // Asking for what is there already is an error.
            if Self.isEncrypted(socket) { return .success(()) }
            do throws(SystemError) {
                if state.encryptions.isEmpty { try socket.descriptor.requireEncryption() }
            } catch {
                return .failure(.cannotEncrypt(error, peer))
            }
            state.encryptions.append(result)
            waitUntilWritable(&state)
            return nil
        }
        if let outcome { result(outcome) }
    }

    /// The socket is writable: the encryption that was asked for is there, or will not come.
    func encryptionEnded(_ socket: SharedDescriptor) {
        let isEncrypted = Self.isEncrypted(socket)
        let waiting = state.withLock { state in
            defer { state.encryptions = [] }
            return state.encryptions
        }
        for result in waiting { result(isEncrypted ? .success(()) : .failure(.encryptionFailed(peer))) }
    }

    private static func isEncrypted(_ socket: SharedDescriptor) -> Bool {
        ((try? socket.descriptor.security())?.level ?? 1) >= 2
    }
}

extension BLEError {
    fileprivate static func cannotEncrypt(_ error: SystemError, _ peer: BluetoothAddress) -> BLEError {
        var failure = BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "the kernel can't encrypt it: \(error)",
            remedy: "Search the kernel's messages (dmesg) for \"Bluetooth\": the module cmac or drbg may be missing."
        )
        failure.systemError = error.rawValue
        return failure
    }

    static func encryptionFailed(_ peer: BluetoothAddress) -> BLEError {
        BLEError(
            .securityFailed,
            operation: "encrypt link",
            object: "with \(peer)",
            cause: "the peripheral no longer has the keys of the bond, or this machine hasn't",
            remedy: "Remove the bond on both sides, on this one with Peripheral.unpair(), then pair again."
        )
    }
}
