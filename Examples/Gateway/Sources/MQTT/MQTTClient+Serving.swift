@preconcurrency import Dispatch

/// The driver: calls libmosquitto, handles what it reports, and sends what may be sent.
extension MQTTClient {
    /// Does something with the connection, and everything that follows.
    func serve(
        _ state: inout ClientState,
        isWriting: Bool = false,
        _ call: (borrowing Connection) throws(MQTTError) -> Void
    ) {
        do throws(MQTTError) {
            guard state.connection != nil else { return }
            let failure = attempt(&state, call)
            try handleReports(&state)
            if let failure { throw failure }
            try sendWhatMayBeSent(&state)
            // What is sent at QoS 0 is reported at once, and makes room for more.
            while state.connection?.hasReports == true {
                try handleReports(&state)
                try sendWhatMayBeSent(&state)
            }
            try watchSocket(&state, wasWriting: isWriting)
        } catch {
            lost(&state, error)
        }
    }

    private func attempt(
        _ state: inout ClientState,
        _ call: (borrowing Connection) throws(MQTTError) -> Void
    ) -> MQTTError? {
        do throws(MQTTError) {
            try state.connection?.perform(call)
            return nil
        } catch {
            return error
        }
    }

    private func watchSocket(_ state: inout ClientState, wasWriting: Bool) throws(MQTTError) {
        guard let socket = state.connection?.socket, let wantsToWrite = state.connection?.wantsToWrite else {
            // The farewell has left, or the broker has closed the connection.
            throw gone("the connection is closed")
        }
        if state.watch?.socket != socket {
            state.watch = SocketWatch(
                socket,
                on: queue,
                read: { [weak self] in
                    self?.now { $0.serve(&$1) { connection throws(MQTTError) in try connection.read() } }
                },
                write: { [weak self] in
                    self?.now {
                        $0.serve(&$1, isWriting: true) { connection throws(MQTTError) in try connection.write() }
                    }
                }
            )
            if state.watch == nil { throw gone("the process has no file descriptor left") }
        }
        // While TLS is negotiated, the socket has room, and libmosquitto waits for the broker.
        let isNegotiating = settings.security != nil && !state.isAccepted
        state.watch?.wantsToWrite(wantsToWrite && !(isNegotiating && wasWriting))
    }

    func gone(_ cause: String) -> MQTTError {
        MQTTError(
            code: .unreachable,
            operation: "receive",
            object: "\(settings.host):\(settings.port)",
            cause: cause,
            remedy: "The client connects again."
        )
    }

    private func unanswered(_ identifier: Int32) -> MQTTError {
        MQTTError(
            code: .failed,
            operation: "publish",
            object: "\(settings.host):\(settings.port)",
            cause: "the broker has not acknowledged message \(identifier), and all numbers have been used since",
            remedy: "The client connects again, and sends it again. Check the log of the broker."
        )
    }

    // MARK: - Reports

    private func handleReports(_ state: inout ClientState) throws(MQTTError) {
        for report in state.connection?.reports() ?? [] {
            switch report {
            case .connected(let reason, let limits): try accepted(&state, reason, limits)
            case .acknowledged(let identifier, let reason): try settled(&state, identifier, reason)
            case .subscribed(let identifier, let reasons): subscribed(&state, identifier, reasons)
            case .received(let message): receive(&state, message)
            case .tooLarge(let message):
                state.counts.received += 1
                state.counts.dropped += 1
                // To a follower, a message without octets says something else.
                if follower == nil { received.yield(message) }
            case .disconnected(let reason) where reason >= 0x80:
                throw MQTTError(
                    code: .refused(reason: Int(reason)),
                    operation: "receive",
                    object: "\(settings.host):\(settings.port)",
                    cause: Self.words(reason),
                    // Session taken over
                    remedy: reason == 0x8E
                        ? MQTTError.afterLoss : "Check the log of the broker; the client connects again."
                )
            case .disconnected: break
            }
        }
    }

    private func accepted(_ state: inout ClientState, _ reason: Int32, _ limits: BrokerLimits) throws(MQTTError) {
        guard reason == 0 else { throw .refused(reason, by: "\(settings.host):\(settings.port)") }
        state.isAccepted = true
        state.connection?.largestPacket = limits.largestPacket
        state.window = SendWindow(limit: max(1, min(settings.inFlight, limits.receiveMaximum)))
        state.counts.connections += 1
        // One that ends sooner counts as an attempt that has failed, even if the broker took messages: otherwise two
        // clients of one name would push each other out several times a second.
        perform(after: settings.backoff.most, during: state.generation) { $1.backoff.reset() }
        for topic in settings.subscriptions { try state.connection?.subscribe(to: topic) }
        outbox.connected()
        happened.yield(.connected(inFlight: state.window.limit))
    }

    private func settled(_ state: inout ClientState, _ identifier: Int32, _ reason: Int32) throws(MQTTError) {
        guard let flight = state.window.settle(identifier) else { return }
        guard reason >= 0x80 else {
            state.counts.acknowledged += 1
            return outbox.acknowledged(flight.token)
        }
        let error = MQTTError(
            code: .rejected(reason: Int(reason)),
            operation: "publish",
            object: flight.topic,
            cause: Self.words(reason),
            remedy: "Check what the broker allows this client."
        )
        // Not authorised, topic name invalid, packet too large, payload format invalid: nothing that passes.
        guard [0x87, 0x90, 0x95, 0x99].contains(reason) else { throw error }
        state.counts.refused += 1
        outbox.refused(flight.token, error)
    }

    private func subscribed(_ state: inout ClientState, _ identifier: Int32, _ reasons: [Int32]) {
        let topic = state.connection?.settle(subscription: identifier)
        if let topic, reasons.allSatisfy({ $0 < 0x80 }) { follower?.subscribed(to: topic) }
        for reason in reasons where reason >= 0x80 {
            let error = MQTTError(
                code: .rejected(reason: Int(reason)),
                operation: "subscribe",
                object: topic ?? "a topic",
                cause: Self.words(reason),
                remedy: "Check what the broker allows this client, which tries again."
            )
            happened.yield(.subscriptionRefused(error))
        }
        if let topic, reasons.contains(where: { $0 >= 0x80 }) { subscribeLater(to: topic, &state) }
    }

    /// Subscribes again after a while: the broker's rules may change, and the connection lasts.
    private func subscribeLater(to topic: String, _ state: inout ClientState) {
        let isFirst = state.refused.isEmpty
        state.refused.insert(topic)
        guard isFirst else { return }
        perform(after: settings.backoff.most, during: state.generation) { client, state in
            guard case .running = state.phase else { return }
            (state.again, state.refused) = (state.refused, [])
            client.serve(&state) { _ throws(MQTTError) in }
        }
    }

    private func receive(_ state: inout ClientState, _ message: MQTTMessage) {
        state.counts.received += 1
        if let follower { return follower.received(message) }
        if case .dropped = received.yield(message) { state.counts.dropped += 1 }
    }

    // MARK: - Sending

    private func sendWhatMayBeSent(_ state: inout ClientState) throws(MQTTError) {
        guard state.isAccepted else { return }
        while let change = follower?.nextChange() {
            switch change {
            case .subscribe(let topic): try state.connection?.subscribe(to: topic)
            case .unsubscribe(let topic):
                state.refused.remove(topic)
                state.again.remove(topic)
                try state.connection?.unsubscribe(from: topic)
            }
        }
        while let topic = state.again.popFirst() { try state.connection?.subscribe(to: topic) }
        while state.window.hasRoom, let item = outbox.next() {
            do throws(MQTTError) {
                guard let identifier = try state.connection?.publish(item.message) else { return }
                state.counts.sent += 1
                // The next connection has all that the broker hasn't acknowledged once more.
                guard state.window.sent(item, as: identifier) else { throw unanswered(identifier) }
            } catch {
                guard error.code == .invalidMessage else { throw error }
                state.counts.refused += 1
                outbox.refused(item.token, error)
            }
        }
        if case .ending = state.phase, state.window.isEmpty {
            state.phase = .leaving
            try state.connection?.disconnect(publishingWill: settings.farewellPublishesWill)
        }
    }
}
