import BLEProtocol
import BLERadio

extension PeripheralServer {
    /// Serves while the closure runs, and ends it when the radio can't go on.
    ///
    /// - Throws: what ended the radio's part, whatever the closure makes of that; what the closure throws;
    ///   `CancellationError`.
    func run<Output: Sendable>(
        _ body: @escaping @Sendable (PeripheralServer) async throws -> Output
    ) async throws -> Output {
        let outcome = await withTaskGroup(of: Result<Output, any Error>?.self) { group in
            group.addTask {
                await self.errands.run()
                return nil
            }
            group.addTask {
                await self.visits.receive()
                return nil
            }
            group.addTask {
                await self.calls.run()
                return nil
            }
            group.addTask {
                do {
                    try await self.untilFailure()
                    return nil
                } catch {
                    return error is CancellationError ? nil : .failure(error)
                }
            }
            group.addTask {
                await self.keepServing()
                return nil
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
        errands.doAll()
        if let failure { throw failure }
        return try outcome.get()
    }

    /// Waits until the radio fails, the server is stopped or the task is cancelled.
    func untilFailure() async throws {
        let nothing: BLEStream<Never> = events(StreamSubject(operation: "serve", object: name)) { _ in nil }
        for try await _ in nothing {}
    }
}
