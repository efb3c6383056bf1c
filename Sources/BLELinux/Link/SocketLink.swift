internal import BLEProtocol
internal import BLERadio
internal import Synchronization

/// A link whose PDUs are the datagrams of a socket.
///
/// Receiving and all calls to the receiver happen on the loop's thread; sending happens on the caller's, one PDU after
/// another if their order matters. Nothing is read before ``start(_:)``: until then the kernel keeps what arrives.
final class SocketLink: ATTLink {
    enum Phase {
        /// Not started.
        case idle
        /// Delivering.
        case open
        /// ``disconnect()`` was called; PDUs that still arrive are delivered.
        case closing
        /// Over; the reason waits for a receiver if there was none.
        case ended(DisconnectReason)

        /// Whether sending has ended.
        var isOver: Bool {
            switch self {
            case .idle, .open: false
            case .closing, .ended: true
            }
        }
    }

    struct State {
        var phase = Phase.idle
        var socket: SharedDescriptor?
        var registration: EventLoop.Registration?
        var receiver: (any ATTLinkReceiver)?
        var isWaitingToWrite = false
        var hasReceived = false
        /// Why the link is over, if `send` got the error: the kernel reports it once.
        var errorOfSending: SystemError?
        /// Whether `send` has failed, so that the link must end.
        var hasFailedToSend = false
        /// The callers that wait for the link to be encrypted.
        var encryptions: [Encrypted] = []
        /// Whether one of these has failed, so that the link must end.
        var hasFailedToEncrypt = false
        /// Lets an encryption go on for a moment though a pairing has failed.
        var keyWait: RadioActivity?
        /// Reports when an encryption that the peer requested fails, and new keys.
        var securityWatch: RadioActivity?
        /// The limit up to which the kernel's report of the link's security is trusted: after a failed pairing for
        /// better keys, of either side, it reports the requested level once the peer has put the old keys into force
        /// again (`hci_key_refresh_complete_evt`, which takes over `pending_sec_level`).
        var securityCeiling: LinkSecurity?
        /// Whether this side is pairing for better keys.
        var isRaising = false
        /// Whether the reason for the link's end is being determined.
        var isEnding = false
        /// Waits for what explains the end.
        var endWait: RadioActivity?
        /// The link's security when its socket was released.
        var lastSecurity = LinkSecurity.none
        /// Ends an immediate drop that the controller does not complete.
        var deadline: RadioActivity?

        /// The socket, while PDUs may be sent.
        var writableSocket: SharedDescriptor? { phase.isOver ? nil : socket }
    }

    /// The longest that the kernel may take to drop a connection: it may have to wait up to 20 s behind an attempt to
    /// connect to a peer that fell silent. If the link ended before the connection, the next attempt would find that
    /// connection again.
    static let dropDeadline = Duration.seconds(25)

    /// How long a key may take to encrypt the link once a pairing has failed; it takes some connection intervals.
    static let keyPatience = Duration.seconds(2)

    let peer: BluetoothAddress
    let local: BluetoothAddress?
    let isResumed: Bool
    let maximumPDUSize: Int

    let loop: EventLoop
    let environment: any LinkEnvironment
    let state: Mutex<State>
    let reading: PacedReading
    private let dropped = Mutex(DropCounter())

    init(
        _ socket: SharedDescriptor,
        peer: BluetoothAddress,
        local: BluetoothAddress?,
        isResumed: Bool,
        maximumPDUSize: Int = SocketLink.attributeChannelMTU,
        loop: EventLoop,
        environment: any LinkEnvironment
    ) {
        self.peer = peer
        self.local = local
        self.isResumed = isResumed
        self.maximumPDUSize = maximumPDUSize
        self.loop = loop
        self.environment = environment
        reading = PacedReading(.ofLinks, on: loop, environment.timeline)
        state = Mutex(State(socket: socket))
    }

    /// What the kernel carries on the attribute channel of an LE link, whatever ATT_MTU has been agreed.
    static let attributeChannelMTU = 672
}

// MARK: - Starting and ending

extension SocketLink {
    func start(_ receiver: any ATTLinkReceiver) {
        let endedAlready = state.withLock { state -> DisconnectReason? in
            precondition(state.receiver == nil && state.registration == nil, "a link is started once")
            if case .ended(let reason) = state.phase { return reason }
            state.receiver = receiver
            if case .idle = state.phase { state.phase = .open }
            return nil
        }
        if let endedAlready {
            loop.enqueue { receiver.linkEnded(endedAlready) }
        } else {
            loop.enqueueReceiving { self.beginReceiving($0) }
        }
    }

    private func beginReceiving(_ buffer: ReceiveBuffer) {
        let failure = state.withLock { state -> SystemError? in
            guard let socket = state.socket, state.registration == nil else { return nil }
            var interest: Readiness = [.readable, .peerClosed]
            if state.isWaitingToWrite { interest.insert(.writable) }
            do throws(SystemError) {
                // The loop keeps the link alive as long as it is open.
                let registration = try loop.register(socket.descriptor, for: interest) { readiness, buffer in
                    self.socketIsReady(readiness, buffer)
                }
                state.registration = registration
                reading.begin(registration, and: interest.subtracting(.readable)) { [weak self] in
                    self?.socketIsReady([], $0)
                }
                return nil
            } catch {
                return error
            }
        }
        if let failure { return end(DisconnectReason(.other, systemError: failure.rawValue)) }
        watchSecurity()
        endAfterFailure(buffer)
    }

    func disconnect() {
        let isFirst = state.withLock { state in
            switch state.phase {
            case .idle, .open:
                state.phase = .closing
                return true
            case .closing, .ended:
                return false
            }
        }
        if isFirst { loop.enqueueReceiving { self.dropPromptly($0) } }
    }

    /// Reads what has arrived, closes the socket and drops the connection, in this order: on some kernels it is
    /// dangerous to close a socket whose connection is gone, see ``KernelFaults``.
    func dropPromptly(_ buffer: ReceiveBuffer) {
        guard
            let (socket, registration, receiver) = state.withLock({ state in
                state.socket.map { ($0, state.registration, state.receiver) }
            })
        else { return }
        if let receiver {
            let outcome = SocketDrain.empty(
                socket.descriptor,
                readiness: socket.descriptor.readinessNow(for: .peerClosed),
                through: buffer,
                limit: SocketDrain.everything
            ) { count in
                deliver(count, of: buffer, to: receiver)
            }
            // The connection has ended meanwhile: nothing is left to drop.
            if case .ended(let error) = outcome { return end(reasonForEnd(error)) }
            reportLoss(of: socket, to: receiver)
        }
        stopReading(registration, of: socket)
        let (security, kernelPeer) = (security, kernelPeer)
        let deadline = environment.timeline.schedule(after: Self.dropDeadline) { [weak self] in
            self?.endDropped()
        }
        state.withLock { state in
            state.socket = nil
            state.lastSecurity = security
            state.registration = nil
            state.deadline = deadline
        }
        // Runs after the socket, which is closed when this function has returned.
        loop.enqueue { self.environment.drop(kernelPeer) { _ in self.endDropped() } }
    }

    private func endDropped() {
        loop.enqueue { self.end(self.reasonForEnd(nil)) }
    }

    /// Ends the link, on the loop's thread; if it was being encrypted, once the reason is known.
    func end(_ reason: DisconnectReason) {
        guard let wait = state.withLock({ $0.beginEnding() }) else { return }
        guard wait.isForReason else { return close(reason) }
        if let (socket, registration) = wait.socket { stopReading(registration, of: socket) }
        environment.readEnd(ofLinkTo: kernelPeer) { told in
            self.loop.enqueue { self.close(reason, whileEncrypting: told) }
        }
    }

    /// Closes the socket, then tells the receiver and releases it.
    func close(_ reason: DisconnectReason) {
        let security = security
        let (last, encryptions, watches) = state.withLock { state in
            defer {
                state.socket = nil
                state.lastSecurity = security
                state.securityWatch = nil
                state.keyWait = nil
                state.endWait = nil
                state.registration = nil
                state.receiver = nil
                state.deadline = nil
                state.encryptions = []
                if case .ended = state.phase {} else { state.phase = .ended(reason) }
            }
            let last = (state.socket, state.registration, state.receiver, state.deadline)
            return (last, state.encryptions, [state.securityWatch, state.keyWait, state.endWait])
        }
        for watch in watches { watch?.cancel() }
        let (socket, registration, receiver, deadline) = last
        deadline?.cancel()
        let isForeign = !encryptions.isEmpty && environment.hasForeignKey(of: peer)
        for result in encryptions { result(.failure(.encryptionFailed(peer, reason, hasForeignKey: isForeign))) }
        if let socket {
            socket.descriptor.noteDeath()
            stopReading(registration, of: socket)
            if let receiver { reportLoss(of: socket, to: receiver) }
        }
        // Not before the caller has released the socket too: then it is closed, or another thread will close it. The
        // link retains the loop until the receiver is told.
        if let receiver { loop.enqueue { withExtendedLifetime(self) { receiver.linkEnded(reason) } } }
    }

    private func stopReading(_ registration: EventLoop.Registration?, of socket: SharedDescriptor) {
        _ = reading.end()
        if let registration { loop.unregister(registration, of: socket.descriptor) }
    }

    /// Reports what was lost after the last PDU that arrived.
    private func reportLoss(of socket: SharedDescriptor, to receiver: any ATTLinkReceiver) {
        let lost = dropped.withLock { $0.lost(byNow: socket.descriptor.droppedSinceOpening()) }
        if lost > 0 { receiver.linkDropped(lost) }
    }
}

// MARK: - Receiving

extension SocketLink {
    private func socketIsReady(_ readiness: Readiness, _ buffer: ReceiveBuffer) {
        let (socket, receiver, requests) = state.withLock { ($0.socket, $0.receiver, $0.encryptions.count) }
        guard let socket, let receiver else { return }

        // When a PDU came that the kernel hasn't timed, only a prompt reading tells.
        var (found, isTimed) = (0, true)
        let outcome = SocketDrain.empty(socket.descriptor, readiness: readiness, through: buffer) { count in
            found += count
            isTimed = isTimed && (0..<count).allSatisfy { buffer.kernelTime($0) != nil }
            deliver(count, of: buffer, to: receiver)
        }
        if case .open = outcome { reading.hasRead(found, of: socket.descriptor, mayPause: isTimed) }
        switch outcome {
        case .ended(let error):
            end(reasonForEnd(error))
        // Checked again: since the event, encryption may have been requested.
        case .open where readiness.contains(.writable) && socket.descriptor.readinessNow(for: .writable) == .writable:
            let (ended, failure) = state.withLock { state -> ([Encrypted]?, SystemError?) in
                // It may have been requested since that check, too: then the socket is not writable any more.
                guard state.isWaitingToWrite, state.registration != nil, state.encryptions.count == requests
                else { return (nil, nil) }
                state.isWaitingToWrite = false
                do throws(SystemError) {
                    try reading.alsoWait(for: .peerClosed, of: socket.descriptor)
                    return (state.takeEncryptions(), nil)
                } catch {
                    return (nil, error)
                }
            }
            // Otherwise the loop would report for ever that it is writable.
            if let failure { return end(DisconnectReason(.other, systemError: failure.rawValue)) }
            guard let ended else { return }
            if !ended.isEmpty { tellEncryption(of: socket, to: ended) }
            receiver.linkBecameWritable()
        case .open:
            break
        }
    }

    /// Delivers a batch, split where the kernel says that PDUs are missing.
    private func deliver(_ count: Int, of buffer: ReceiveBuffer, to receiver: any ATTLinkReceiver) {
        var pdus = ReceivedPDUs()
        pdus.reserveCapacity(count)
        var (array, octets, position, end) = (0, [UInt8](), 0, 0)
        for index in 0..<count {
            if index == end {
                (end, octets) = buffer.run(from: index, of: count)
                array = pdus.add(octets)
                position = 0
            }
            let range = position..<position + buffer.length(index)
            position = range.upperBound
            let lost = buffer.dropped(index).map { total in dropped.withLock { $0.lost(upTo: total) } } ?? 0
            if lost > 0 {
                if !pdus.isEmpty { receiver.linkReceived(pdus) }
                pdus = ReceivedPDUs()
                array = pdus.add(octets)
                receiver.linkDropped(lost)
            }
            // An empty frame holds no PDU.
            if range.isEmpty { continue }
            pdus.append(range, ofArray: array, time: buffer.kernelTime(index) ?? environment.timeline.wallTime)
        }
        guard !pdus.isEmpty else { return }
        // Not retained while others handle them.
        octets = []
        state.withLock { $0.hasReceived = true }
        receiver.linkReceived(consume pdus)
    }

    private func reasonForEnd(_ error: SystemError?) -> DisconnectReason {
        let (isOurs, hasReceived, errorOfSending, isNotEncrypted) = state.withLock { state in
            let isOurs = if case .closing = state.phase { true } else { false }
            return (isOurs, state.hasReceived, state.errorOfSending, state.hasFailedToEncrypt)
        }
        let error = error ?? errorOfSending
        if isOurs { return DisconnectReason(.closedLocally, systemError: error?.rawValue) }
        if isNotEncrypted, error == nil { return DisconnectReason(.authenticationFailed) }
        return DisconnectReason(
            endOfSocket: error,
            hasReceived: hasReceived,
            isAdapterUp: environment.isAdapterUp
        )
    }
}
