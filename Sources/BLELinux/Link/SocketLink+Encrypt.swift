internal import BLEProtocol
internal import BLERadio
internal import Synchronization

extension SocketLink {
    /// A caller that waits for the link to be encrypted.
    typealias Encrypted = @Sendable (Result<Void, BLEError>) -> Void

    /// The kernel encrypts when a security level is requested, and makes the socket writable again when it has. A
    /// refusal shows only as the end of the link: the caller must set a time limit.
    ///
    /// The kernel then reports the requested level, so the key's own level is requested. It must not be higher: for
    /// that the kernel would pair. If it has no key, it pairs again by itself, on kernels before 6.12 without asking.
    /// Just Works doesn't reach the level of an authenticated bond, so no weaker key replaces it unnoticed. Source:
    /// kernel, `net/bluetooth/smp.c`, `smp_conn_security`, `smp_ltk_encrypt`, `smp_cmd_pairing_rsp`.
    func encrypt(_ result: @escaping Encrypted) {
        let level = environment.keyLevel(of: kernelPeer) ?? .encrypted
        let (outcome, end) = state.withLock { state -> (Result<Void, BLEError>?, DisconnectReason?) in
            guard let socket = state.socket, !state.phase.isOver else { return (nil, state.reasonOfEnd) }
            // Requesting the existing level is an error.
            if Self.isEncrypted(socket) { return (.success(()), nil) }
            do throws(SystemError) {
                if state.encryptions.isEmpty { try socket.descriptor.requireSecurity(level.kernelLevel) }
            } catch {
                return (.failure(.cannotEncrypt(error, peer)), nil)
            }
            state.encryptions.append(result)
            waitUntilWritable(&state)
            return (nil, nil)
        }
        if let outcome { result(outcome) }
        if let end { tell(end, to: result) }
    }

    /// Tells who asks for encryption too late why the link has ended. That may have been the encryption all the same:
    /// the kernel begins one by itself at the peer's request, and drops the link if the peer has no key.
    private func tell(_ end: DisconnectReason, to result: @escaping Encrypted) {
        environment.readEnd(ofLinkTo: kernelPeer) { [peer, environment] told in
            let isMissing = told == .authenticationFailure
            let reason = isMissing ? DisconnectReason(.keyMissing, systemError: end.systemError) : end
            let isForeign = environment.hasForeignKey(of: peer)
            result(.failure(.encryptionFailed(peer, reason, hasForeignKey: isForeign)))
        }
    }

    /// The socket is writable: the encryption that these have requested is in force, or will not come.
    func tellEncryption(of socket: SharedDescriptor, to requests: [Encrypted]) {
        let isEncrypted = Self.isEncrypted(socket)
        for result in requests { result(isEncrypted ? .success(()) : .failure(.encryptionFailed(peer))) }
    }

    /// On the loop's thread, so that no failure is missed, nor reported after the end.
    func watchSecurity() {
        let watch = environment.watchSecurity(of: kernelPeer) { [weak self] in self?.securityFailed($0) }
        let keyWatch = environment.observeKeys(of: kernelPeer) { [weak self] in self?.keysMade() }
        let bondWatch = environment.watchBonds(of: kernelPeer) { [weak self] bond in
            self?.state.withLock { $0.receiver }?.linkPaired(bond)
        }
        let all = RadioActivity {
            for one in [watch, keyWatch, bondWatch] { one.cancel() }
        }
        state.withLock { state in
            if state.receiver != nil { state.securityWatch = all }
        }
    }

    /// A pairing with the peer has failed: one that the peer has requested, or that the kernel has begun for an
    /// encryption, since it has no key that suffices.
    ///
    /// A link that waits for that encryption is ended: the kernel makes its socket writable only once it is encrypted.
    /// Where there is a key, the encryption with that may be under way all the same, and what failed may be the peer's
    /// own request. Source: kernel, `net/bluetooth/l2cap_core.c`, `l2cap_security_cfm`.
    ///
    /// Otherwise the level that the peer has requested in vain would be reported once it has the present keys put into
    /// force again, which it may request at any time, or once a key encrypts the link: ``State/securityCeiling``.
    /// Source: kernel, `net/bluetooth/smp.c`, `smp_cmd_security_req`.
    ///
    /// - Parameter error: what the receiver is told; `nil` if that is reported elsewhere.
    private func securityFailed(_ error: BLEError?) {
        let (now, kernelPeer) = (security, kernelPeer)
        let ofKey = environment.keyLevel(of: kernelPeer).map { LinkSecurity(level: $0.kernelLevel, keySize: 16) }
        let limit = now.isEncrypted ? now : ofKey
        let (receiver, isAwaited) = state.withLock { state in
            if state.securityCeiling == nil { state.securityCeiling = limit }
            // A failure of a pairing that this side has begun is reported elsewhere.
            return (state.isRaising ? nil : state.receiver, !state.encryptions.isEmpty)
        }
        guard isAwaited else {
            if let error { receiver?.linkEncryptionFailed(error) }
            return
        }
        if environment.hasKey(of: kernelPeer) { awaitKey() } else { giveUpEncrypting() }
    }

    /// Gives the encryption with a key a moment, from the first failure on.
    private func awaitKey() {
        guard state.withLock({ $0.keyWait == nil }) else { return }
        let wait = environment.timeline.schedule(after: Self.keyPatience) { [weak self] in self?.giveUpEncrypting() }
        state.withLock { $0.keyWait = wait }
    }

    /// Ends the link if it still waits for its encryption.
    private func giveUpEncrypting() {
        let (wait, isAwaited) = state.withLock { state in
            if !state.encryptions.isEmpty { state.hasFailedToEncrypt = true }
            return (state.keyWait.take(), state.hasFailedToEncrypt)
        }
        wait?.cancel()
        if isAwaited { loop.enqueueReceiving { self.dropPromptly($0) } }
    }

    /// Closes a link that has ended while it was being encrypted. An adapter that is switched off ends its links before
    /// the kernel reports that it is off: if that may be the cause, once it is known.
    ///
    /// - Parameter told: the reason that the kernel has reported on the management socket.
    func close(_ reason: DisconnectReason, whileEncrypting told: ManagementDisconnectReason?) {
        let isOurs = state.withLock { if case .closing = $0.phase { true } else { false } }
        guard reason.kind == .closedLocally, told == .localHost, !isOurs else {
            return close(reason.whileEncrypting(told))
        }
        let wait = environment.timeline.schedule(after: Pairing.powerReport) {
            self.loop.enqueue {
                let isUp = self.environment.isAdapterUp
                let off = DisconnectReason(.adapterOff, systemError: reason.systemError)
                self.close(isUp ? reason.whileEncrypting(told) : off)
            }
        }
        state.withLock { $0.endWait = wait }
    }

    /// A key of the peer's was made, or may have been: the link is believed to have the level of the key that there is.
    private func keysMade() {
        guard let level = environment.keyLevel(of: kernelPeer) else { return }
        let size = UInt8(clamping: security.keySize)
        state.withLock { state in
            guard !state.isRaising, state.securityCeiling != nil else { return }
            state.securityCeiling = LinkSecurity(level: level.kernelLevel, keySize: size)
        }
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
            remedy: "Run \"sudo modprobe -a cmac drbg\": one of these kernel modules may be missing. If that doesn't "
                + "help, search the kernel's messages (sudo dmesg) for \"Bluetooth\"."
        )
        failure.systemError = error.rawValue
        return failure
    }

    /// The link ended while it was being encrypted, or was not encrypted after all.
    ///
    /// - Parameter hasForeignKey: whether the kernel has other keys for the peer than this program.
    static func encryptionFailed(
        _ peer: BluetoothAddress,
        _ reason: DisconnectReason? = nil,
        hasForeignKey: Bool = false
    ) -> BLEError {
        let unpair = "Remove the bond on both sides, on this one with Peripheral.unpair(), then pair again."
        let (code, cause, remedy): (BLEError.Code, String, String) =
            switch reason?.kind {
            case .keyMissing? where hasForeignKey, .authenticationFailed? where hasForeignKey:
                (
                    .securityFailed,
                    "this adapter's keys for the peripheral differ from this program's bond and don't match: another "
                        + "program, such as bluetoothd, has paired with it since, or has given the adapter older keys",
                    "Remove its bond too, with \"bluetoothctl remove \(peer)\" if it is bluetoothd's. \(unpair)"
                )
            case .keyMissing?:
                (
                    .securityFailed,
                    "the peripheral no longer has the keys of the bond: it was reset, or its bond was removed there",
                    "Remove the bond with Peripheral.unpair(), then pair again."
                )
            case .authenticationFailed?:
                (
                    .securityFailed,
                    "the peripheral's keys differ from this machine's: one of the two has paired again, or an older "
                        + "bond was restored",
                    unpair
                )
            case let kind?:
                (
                    .disconnected, "the link ended while it was being encrypted: \(kind.words)",
                    "Try again; if it happens each time, the peripheral may have lost the bond. \(unpair)"
                )
            case nil:
                (.securityFailed, "the peripheral or this machine no longer has the keys of the bond", unpair)
            }
        var error = BLEError(code, operation: "encrypt link", object: "with \(peer)", cause: cause, remedy: remedy)
        error.reason = reason
        return error
    }
}

extension SocketLink.State {
    /// Takes out the callers that wait for the link to be encrypted.
    mutating func takeEncryptions() -> [SocketLink.Encrypted] {
        defer { encryptions = [] }
        return encryptions
    }

    /// Why the link is over, or is about to be.
    var reasonOfEnd: DisconnectReason {
        if case .ended(let reason) = phase { return reason }
        return DisconnectReason(hasFailedToEncrypt ? .authenticationFailed : .closedLocally)
    }

    /// Whether the end must wait until it is known why the link could not be encrypted, and the socket to unregister
    /// meanwhile; `nil` if that wait is already under way.
    mutating func beginEnding() -> (isForReason: Bool, socket: (SharedDescriptor, EventLoop.Registration)?)? {
        guard !isEnding else { return nil }
        guard !encryptions.isEmpty else { return (false, nil) }
        isEnding = true
        guard let socket, let taken = registration.take() else { return (true, nil) }
        return (true, (socket, taken))
    }
}

extension DisconnectReason {
    /// Why a link ended while it was being encrypted.
    ///
    /// The kernel distinguishes a peer without the key (HCI 0x06) from everything else. With a different key, the first
    /// packet can't be read, and the link ends with HCI 0x3D, which the kernel reports as no reason, and as its error
    /// for unknown statuses. Source: kernel, `net/bluetooth/hci_event.c`, `hci_encrypt_change_evt`,
    /// `hci_disconn_complete_evt`.
    ///
    /// - Parameter told: the reason that the kernel has reported on the management socket.
    func whileEncrypting(_ told: ManagementDisconnectReason?) -> DisconnectReason {
        if told == .authenticationFailure { return DisconnectReason(.keyMissing, systemError: systemError) }
        switch kind {
        case .other, .failedToEstablish: return DisconnectReason(.authenticationFailed, systemError: systemError)
        // This host has dropped the link since the encryption was refused.
        case .closedLocally where told != nil: return DisconnectReason(.authenticationFailed, systemError: systemError)
        default: return self
        }
    }
}
