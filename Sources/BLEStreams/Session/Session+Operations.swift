import BLEProtocol
import BLERadio
import Synchronization

extension Session: CharacteristicAccess {
    /// Runs the closure with the link once the session is ready; its state is reading or writing meanwhile. See
    /// ``CharacteristicAccess``.
    ///
    /// In the closure, use the link passed to it. If the closure's task waits for the session, or for a command of its
    /// queue, that throws ``BLEError/Code/deadlock`` immediately; a child task waits until its time limit.
    public func withLink<Output: Sendable>(
        for operation: CharacteristicOperation,
        timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output {
        switch operation {
        case .read: try await operate(.read, .readFinished, timeout, body)
        case .write: try await operate(.write, .writeFinished, timeout, body)
        }
    }

    /// Runs the closure with the link once the session is ready; for operations that a session doesn't offer itself.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the session to be ready; `nil`: for as long as it takes. The closure is not
    ///     limited by it. While a command or a flow has exclusive use of the link, its operations wait; their own
    ///     `timeout:` covers that.
    ///   - body: what to do with the link.
    /// - Throws: what ``ready(timeout:)`` throws; what the closure throws.
    public func withLink<Output>(
        timeout: Duration? = nil,
        _ body: (Link) async throws -> Output
    ) async throws -> Output {
        try await body(readyLink(within: SessionPatience(timeout, self)))
    }

    /// Waits until the session is ready.
    ///
    /// - Parameter timeout: how long to wait; `nil`: without limit.
    /// - Throws: the session's error if it has failed; ``BLEError/Code/ended`` if it has ended, or ends meanwhile;
    ///   ``BLEError/Code/timedOut``; ``BLEError/Code/deadlock`` in the closure of an operation, which ends before the
    ///   session is ready again; `CancellationError`.
    public func ready(timeout: Duration? = nil) async throws {
        _ = try await readyLink(within: SessionPatience(timeout, self))
    }

    /// Waits for a ready link that is still up, and that nobody is closing: the state reports the end slightly later.
    func readyLink(within patience: SessionPatience) async throws -> Link {
        if isOperating, [.reading, .writing].contains(state.kind) { throw waitingForOperation("ready") }
        let (board, over) = (board, over)
        let limit = patience.rest { self.whyNotReady }
        return try await reply(on: core.timeline, limit: limit) { finish in
            board.wait { [weak self] state in
                switch state {
                case .connected(.ready)?:
                    guard let link = self?.link, !link.isEnding else { return false }
                    finish(.success(link))
                case .failed(let error)?: finish(.failure(error))
                case nil: finish(.failure(over))
                default: return false
                }
                return true
            }
        }
    }

    /// What a caller waits for while the session isn't ready, and what keeps it from that.
    var whyNotReady: SessionPatience.Wait {
        var wait = board.whyNotReady
        // The state tells only that an adapter is awaited.
        guard case .disconnected(.waitingToReconnect(_, .adapter)) = state, let obstacle = bondObstacle else {
            return wait
        }
        wait.why = "it is waiting to reconnect: \(obstacle.cause)"
        wait.remedy = obstacle.remedy
        return wait
    }

    /// Which of joined adapters, to which the bond belongs, are off or gone while another one is on; `nil` if that
    /// isn't so.
    var bondObstacle: BLEError? { peripheral.flatMap { core.joined?.bondObstacle(to: $0.address) } }

    /// The same, behind a trigger that tells only that the adapter was lost.
    func obstacle(behind trigger: SessionState.Trigger) -> BLEError? {
        if case .adapterLost = trigger { bondObstacle } else { nil }
    }

    private func operate<Output: Sendable>(
        _ begin: SessionState.Trigger,
        _ end: SessionState.Trigger,
        _ timeout: Duration?,
        _ body: (Link) async throws -> Output
    ) async throws -> Output {
        let patience = SessionPatience(timeout, self)
        while true {
            try refuseToWait(for: begin.kind.words)
            let link = try await readyLink(within: patience)
            let leave = try await turn(within: patience)
            defer { leave() }
            // The link may have been lost while waiting for the turn, and the next one not be ready yet.
            guard self.link === link, !link.isEnding, (try? handle(begin)) != nil else { continue }
            operatingTask.store(LaneHolds.task, ordering: .releasing)
            defer { operatingTask.store(0, ordering: .releasing) }
            do {
                let output = try await body(link)
                try? handle(end)
                return output
            } catch let error as BLEError {
                // The driver of the session reports the end of the link to the machine.
                if !error.tellsEnd(of: link) { try? handle(.operationFailed(error)) }
                throw error
            } catch {
                try? handle(end)
                throw error
            }
        }
    }
}
