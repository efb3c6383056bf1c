import BLERadio
import BLESimulator
import BLEStreams
import Synchronization

/// How programs run, and what may come of a step.
extension World {
    /// For so long a step may go on once it was cancelled: a link is given up in order.
    private static let cancellationTakes = Duration.seconds(20)
    /// For so long a step may take that nobody cancels, beside its own limit.
    private static let stepTakes = Duration.seconds(900)

    private enum StepEnd: Sendable {
        case ended(Result<Void, any Error>)
        case impatient
    }

    func run(_ step: PlannedStep, _ name: String, of central: Int) async throws {
        log("\(name) begins: \(step)")
        let late = Mutex<RadioActivity?>(nil)
        defer { late.withLock { $0 }?.cancel() }
        let limit = step.patience.map { $0 + Self.cancellationTakes } ?? Self.stepTakes
        late.withLock {
            $0 = time.schedule(after: limit) { [weak self] in
                self?.report(
                    "\(name) goes on for \(limit), of which it was \(step.patience ?? limit) allowed",
                    "endless"
                )
            }
        }
        let (result, isCancelled) = await withTaskGroup(of: StepEnd.self) { group in
            group.addTask {
                do { return .ended(.success(try await self.perform(step, name, of: central))) } catch {
                    return .ended(.failure(error))
                }
            }
            if let patience = step.patience {
                group.addTask {
                    try? await self.time.sleep(for: patience)
                    return .impatient
                }
            }
            var isCancelled = false
            for await end in group {
                switch end {
                case .impatient:
                    isCancelled = true
                    group.cancelAll()
                case .ended(let result):
                    group.cancelAll()
                    return (result, isCancelled || Task.isCancelled)
                }
            }
            return (.success(()), isCancelled)
        }
        judge(result, step, name, isCancelled: isCancelled)
    }

    private func judge(_ result: Result<Void, any Error>, _ step: PlannedStep, _ name: String, isCancelled: Bool) {
        switch result {
        case .success:
            log("\(name) is done")
            reached("\(step.family): done")
        case .failure(is CancellationError):
            log("\(name) is cancelled")
            reached("\(step.family): cancelled")
            if !isCancelled { report("\(name) throws a CancellationError, and nobody has cancelled it", "cancelled") }
        case .failure(let error as BLEError):
            log("\(name) fails: \(error)")
            reached("\(step.family): \(error.code)")
            check(error, of: name)
        case .failure(let error):
            report("\(name) throws \(error)", "error")
        }
    }

    /// An error says what failed, why, and what can be done.
    func check(_ error: BLEError, of name: String) {
        if error.operation.isEmpty || error.cause.isEmpty || error.remedy.isEmpty {
            report("\(name) fails, and isn't told why: \(error)", "words")
        }
    }
}

extension PlannedStep {
    /// After how long the program cancels it; `nil`: it ends by itself.
    var patience: Duration? {
        switch self {
        case .use, .receivesMessage, .sendsMessage, .serial, .rests: nil
        case .share(_, let manners, _): manners.map(\.patience).max()
        case .follow(_, _, _, _, _, let manner), .fleet(_, _, let manner), .scan(let manner), .typed(_, let manner),
            .observes(_, let manner), .presence(let manner), .visits(_, let manner):
            manner.patience
        case .session(let session): session.manner.patience
        case .serves(let duration): duration
        case .restored: .seconds(60)
        case .flows: .seconds(600)
        case .queue, .exchange: .seconds(300)
        }
    }
}
