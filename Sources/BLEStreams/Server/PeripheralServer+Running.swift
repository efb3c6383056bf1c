import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// Serves while the closure runs, and ends the closure if the radio can't continue.
    ///
    /// - Throws: the error that ended the radio's part, whatever the closure does then; what the closure throws;
    ///   `CancellationError`.
    func run<Output: Sendable>(
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Output
    ) async throws -> Output {
        let outcome = await withTaskGroup(of: Result<Output, any Error>?.self) { group in
            for work in self.companions {
                group.addTask {
                    do {
                        try await work()
                        return nil
                    } catch {
                        return error is CancellationError ? nil : .failure(error)
                    }
                }
            }
            group.addTask {
                do {
                    try await self.startServing()
                    return .success(try await body(self))
                } catch {
                    return .failure(error)
                }
            }
            var outcome: Result<Output, any Error>?
            for await case .some(let result) in group {
                if outcome == nil { outcome = result }
                group.cancelAll()
            }
            return outcome ?? .failure(CancellationError())
        }
        let failure = failure
        await stop()
        await judgedBonds()
        errands.doAll()
        await settle()
        if let failure { throw failure }
        return try outcome.get()
    }

    /// Waits for what the radio and the disk have yet to do, and lets the program's closures go.
    private func settle() async {
        // The answer to a command that puts the advertisement up may still be owed: then it is taken down only after
        // it.
        await radio.finished()
        // The program may end now. A central has its part of a bond, and doesn't write again what it has configured.
        await served.store.flush(on: timeline)
        answering.release()
        visits.forgetAnswers()
        warnings.release()
        // What it was warned of meanwhile.
        errands.doAll()
    }

    /// Waits until each bond so far has been compared with its former one, and so is kept or not.
    private func judgedBonds() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            served.store.perform(on: timeline) { continuation.resume() }
        }
    }

    /// The tasks that run beside the closure.
    private var companions: [@Sendable () async throws -> Void] {
        [
            { await self.errands.run() }, { await self.visits.receive() }, { await self.calls.run() },
            { try await self.untilFailure() }, { await self.keepServing() }, { await self.restoreUnreadBonds() },
        ]
    }

    /// Waits until the radio fails, the server is stopped or the task is cancelled.
    func untilFailure() async throws {
        let nothing: BLEStream<Never> = events(StreamSubject(operation: "serve", object: name)) { _ in nil }
        for try await _ in nothing {}
    }
}
