import BLEProtocol
import Synchronization

/// One procedure of the program on attributes of the peer: they are found, the procedure is begun, and begun once more
/// where the services changed before the peer had done it, or where the link had to be made more secure for it. No handle is
/// used whose meaning is in doubt.
final class AttributeOperation<Procedure: GATTProcedure>: Sendable {
    typealias Outcome = Result<Procedure.Success, BLEError>

    /// What the procedure is for.
    enum Target: Sendable {
        /// A characteristic, which must have one of these properties; the procedure is made when it has been found.
        case characteristic(
            CharacteristicSelector,
            anyOf: CharacteristicProperties,
            @Sendable (Characteristic) -> Procedure
        )
        /// What the caller knows by its handles, or what needs none.
        case handles(Procedure)
    }

    private let link: Link
    private let target: Target
    private let operation: String
    private let object: OperationObject
    private let finish: @Sendable (Outcome) -> Void
    private let state = Mutex(AttributeOperationState())

    /// Starts when the link is free for it; exactly one outcome comes, unless the returned closure is called before.
    static func start(
        on link: Link,
        _ target: Target,
        operation: String,
        object: OperationObject,
        finish: @escaping @Sendable (Outcome) -> Void
    ) -> @Sendable () -> Void {
        let started = AttributeOperation(link, target, operation, object, finish)
        let place = link.lane.enter(link.pass) { started.entered($0) }
        return { started.cancel(place) }
    }

    private init(
        _ link: Link,
        _ target: Target,
        _ operation: String,
        _ object: OperationObject,
        _ finish: @escaping @Sendable (Outcome) -> Void
    ) {
        self.link = link
        self.target = target
        self.operation = operation
        self.object = object
        self.finish = finish
    }

    private func entered(_ place: Lane.Entry) {
        let isOver = state.withLock { state in
            state.place = place
            return state.isOver
        }
        if isOver { place.leave() } else { begin() }
    }

    private func begin() {
        switch target {
        case .handles(let procedure):
            let attributes = link.attributes
            let leave = attributes.secure(
                for: procedure,
                operation: operation,
                object: "\(object)",
                answers: link.whoAnswers
            ) { error in
                if let error { return self.end(.failure(error)) }
                let database = attributes.knownDatabase
                self.state.withLock { $0.database = database }
                self.run(procedure)
            }
            wait(leaving: leave)
        case .characteristic(let selector, let properties, let make):
            let answers = link.whoAnswers
            let leave = link.attributes.characteristic(selector, operation: operation, answers: answers) { found in
                switch found {
                case .failure(let error): self.end(.failure(error))
                case .success(let characteristic):
                    guard properties.isEmpty || !characteristic.properties.isDisjoint(with: properties) else {
                        return self.end(.failure(self.notSupported(characteristic)))
                    }
                    self.run(make(characteristic))
                }
            }
            wait(leaving: leave)
        }
    }

    /// Waits for the link to be more secure, until it is over.
    private func wait(leaving leave: (@Sendable () -> Void)?) {
        guard let leave else { return }
        let isOver = state.withLock { state in
            if !state.isOver { state.leaveRaise = leave }
            return state.isOver
        }
        if isOver { leave() }
    }

    private func run(_ procedure: Procedure) {
        let rises = link.raiser.rises
        let isOver = state.withLock { state in
            state.rises = rises
            return state.isOver
        }
        if isOver { return }
        let id = link.bearer.begin(procedure) { outcome in
            switch outcome {
            case .success(let value as Procedure.Success): self.end(.success(value))
            case .success: self.failed(.cancelled, procedure)
            case .failure(let failure): self.failed(failure, procedure)
            }
        }
        let isOverNow = state.withLock { state in
            state.procedure = id
            return state.isOver
        }
        // It may have been cancelled between the two locks; what has ended ignores it.
        if isOverNow { link.bearer.cancel(id) }
        link.attributes.operationBegan()
    }

    private func failed(_ failure: GATTFailure, _ procedure: Procedure) {
        if let refused = failure.refused { return self.refused(failure, refused, procedure) }
        let isDoubt = failure == .databaseChanged || failure.isOutOfSync
        let mayRepeat = state.withLock { state in
            defer { state.hasRepeated = true }
            return isDoubt && !state.hasRepeated && !state.isOver
        }
        guard mayRepeat else {
            return end(.failure(error(failure)))
        }
        let answer: RemoteDatabase.Answer = { outcome in
            switch outcome {
            case .failure(let failure):
                self.end(.failure(self.error(failure)))
            case .success(let database): self.again(database, procedure)
            }
        }
        if failure.isOutOfSync { link.attributes.outOfSync(answer) } else { link.attributes.database(answer) }
    }

    /// The link isn't secure enough: it is raised where somebody answers, once.
    private func refused(_ failure: GATTFailure, _ error: ATTError, _ procedure: Procedure) {
        let (before, hasRaised) = state.withLock { ($0.rises, $0.hasRaised) }
        // Raised since it was begun, for somebody else.
        if before != link.raiser.rises { return run(procedure) }
        guard !hasRaised, let level = RaiseMachine.level(for: error, at: link.security), let answers = link.answers
        else {
            return end(.failure(self.error(failure)))
        }
        state.withLock { $0.hasRaised = true }
        let leave = link.raiser.raise(to: level, answers: answers, isRefused: true) { [self] outcome in
            let undo = state.withLock { $0.leaveRaise.take() }
            withExtendedLifetime(undo) {}
            switch outcome {
            case .success: run(procedure)
            case .failure(let error):
                let refusal = BLEError(failure, operation: operation, object: "\(object)")
                end(.failure(refusal.notRaised(error)))
            }
        }
        wait(leaving: leave)
    }

    private func again(_ database: GATTDatabase, _ procedure: Procedure) {
        guard case .handles = target else { return begin() }
        let former = state.withLock { $0.database }
        // Without discovery on this link the handles are from an earlier one, and right where nothing has changed since.
        let isSame =
            former.map { former in procedure.handles.allSatisfy { former.means($0, theSameAs: database) } }
            ?? link.attributes.isFromMemory
        guard isSame else { return end(.failure(.servicesChanged(operation, "\(object)"))) }
        run(procedure)
    }

    private func error(_ failure: GATTFailure) -> BLEError {
        BLEError(
            failure,
            operation: operation,
            object: "\(object)",
            security: link.security,
            wasRaised: state.withLock { $0.hasRaised }
        )
    }

    private func end(_ outcome: Outcome) {
        let (isFirst, place) = state.withLock { state in
            defer { state.isOver = true }
            return (!state.isOver, state.place.take())
        }
        place?.leave()
        if isFirst { finish(outcome) }
    }

    private func cancel(_ place: Lane.Entry) {
        let (procedure, leaveRaise) = state.withLock { state in
            state.isOver = true
            return (state.procedure, state.leaveRaise.take())
        }
        leaveRaise?()
        if let procedure { link.bearer.cancel(procedure) }
        place.leave()
    }

    private func notSupported(_ found: Characteristic) -> BLEError {
        BLEError(
            .notSupported,
            operation: operation,
            object: "\(object)",
            cause: "the characteristic has no such property; it has: \(found.properties)",
            remedy: "Use one of the properties that it has, or another characteristic."
        )
    }
}

extension GATTFailure {
    fileprivate var isOutOfSync: Bool {
        if case .attribute(.databaseOutOfSync, _) = self { true } else { false }
    }

    /// What the peer has answered, where it refuses.
    var refused: ATTError? {
        if case .attribute(let error, _) = self, error.isOfSecurity { error } else { nil }
    }
}

/// Outside the operation: as a part of a generic type it would have its metadata looked up for each operation.
private struct AttributeOperationState {
    /// Where it waits for the link, or has it.
    var place: Lane.Entry?
    var procedure: Bearer.ProcedureID?
    var isOver = false
    var hasRepeated = false
    /// How often the link had been raised when it was begun.
    var rises = 0
    /// Whether the link was to be raised for it.
    var hasRaised = false
    /// Has it not wait for that any more.
    var leaveRaise: (@Sendable () -> Void)?
    /// What the handles meant when they were used; `nil`: nobody knows.
    var database: GATTDatabase?
}
