import BLEProtocol
import BLERadio
import Synchronization

extension Session {
    /// The queue whose commands and flows run on the session's link, one at a time, each with exclusive use of the
    /// link.
    ///
    /// ```swift
    /// let image = try FirmwareImage(file: "app_update.bin")
    /// try await session.queue.run(FirmwareUpdateFlow(image))
    /// let level = session.queue.enqueue(.read(.batteryLevel).retry())
    /// print(try await level.value)
    /// ```
    ///
    /// A command waits until the session is ready; after a lost link, a command that retries, or a flow that resumes,
    /// continues on the session's next link. ``CommandQueue/connecting(timeout:then:)`` limits the wait for a link; a
    /// deadline includes it. Commands that connect or disconnect fail with ``BLEError/Code/notSupported``, since the
    /// session does both.
    ///
    /// The session's streams go on meanwhile: values arrive, and those who ask see a gap where a link was lost.
    /// ``CharacteristicAccess/read(_:timeout:)``,
    /// ``CharacteristicAccess/write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)`` and subscriptions that are not on yet
    /// wait until the command has ended.
    ///
    /// Once the session has failed, commands fail with its error; when the session ends, they are cancelled and fail
    /// with ``BLEError/Code/ended``. Each access returns the same queue.
    public var queue: CommandQueue { CommandQueue(core: queueCore) }

    /// Acquires the session's link for one command, once the session is ready.
    ///
    /// - Parameters:
    ///   - limit: how long to wait until the session is ready and its link free; `nil`: without limit.
    ///   - note: is told what it waits for, and each time that this is something else.
    func hold(
        within limit: TurnLimit?,
        noting note: (CommandDelay) -> Void
    ) async throws -> LinkHold {
        let patience = SessionPatience(limit?.total, until: limit?.end, self)
        while true {
            note(.unready(self))
            let link = try await readyLink(within: patience)
            // Operations that the state shows, such as reading, take turns with commands.
            note(.inUse)
            let leave = try await turn(within: patience)
            note(.held)
            do {
                let entry = try await link.acquire(limit: patience.rest { CommandDelay.held.wait })
                // The session may have dropped the link meanwhile, and be switching its notifications off: what begins
                // on it is lost with it.
                guard self.link === link, !link.isEnding else {
                    entry.leave()
                    leave()
                    continue
                }
                // The driver of the session waits for a turn too, and makes the next link.
                let forget = link.onEnd { _ in leave() }
                return LinkHold(link: Link(link, pass: entry.id), entry: entry) {
                    forget()
                    leave()
                }
            } catch let error as BLEError where error.code == .disconnected {
                leave()
            } catch {
                leave()
                throw error
            }
        }
    }

    /// Refuses an operation that would wait for the task that calls it: a command of the queue, a holder of the link,
    /// or an operation whose closure doesn't use its link.
    func refuseToWait(for operation: String) throws(BLEError) {
        if isOperating { throw waitingForOperation(operation) }
        if queueCore.isInside {
            throw BLEError(
                .deadlock,
                operation: operation,
                object: "with \(self)",
                cause: "a command of the session's queue has exclusive use of the link, and would wait for itself",
                remedy: "Use the command's own link: `context.link`."
            )
        }
        if let link, link.bearer.wouldWaitForItself(with: link.pass) {
            throw .waitingForItself(operation, "with \(self)")
        }
    }

    /// Whether the running task is in the closure of an operation of this session, which keeps its turn meanwhile.
    var isOperating: Bool {
        let task = LaneHolds.task
        return task != 0 && operatingTask.load(ordering: .acquiring) == task
    }

    func waitingForOperation(_ operation: String) -> BLEError {
        BLEError(
            .deadlock,
            operation: operation,
            object: "with \(self)",
            cause: "this task is in an operation of the session, and would wait for its own end",
            remedy: "Use the link passed to the closure of that operation."
        )
    }
}

/// A weak reference to a session.
struct SessionReference: Sendable, CustomStringConvertible {
    weak let session: Session?
    let description: String

    init(_ session: Session) {
        self.session = session
        description = "\(session)"
    }

    /// The session.
    ///
    /// - Throws: ``BLEError/Code/ended`` if it has been released.
    func standing() throws -> Session {
        guard let session else {
            throw BLEError(
                .ended,
                operation: "command",
                object: "on \(description)",
                cause: "the session has ended",
                remedy: "Run commands while the session runs."
            )
        }
        return session
    }
}

/// The peripherals whose link belongs to a session, so that a queue that wants its own is refused.
final class SessionLinks: Sendable {
    private let identities: KnownIdentities
    private let addresses = Mutex<[ObjectIdentifier: BluetoothAddress]>([:])

    init(_ identities: KnownIdentities) { self.identities = identities }

    func set(_ address: BluetoothAddress?, of session: Session) {
        addresses.withLock { $0[ObjectIdentifier(session)] = address }
    }

    /// The error for a queue that wants to make a link to the peripheral; `nil` if no session has one.
    func refusal(_ address: BluetoothAddress) -> BLEError? {
        let isTaken = addresses.withLock { taken in taken.values.contains { identities.areOfOne($0, address) } }
        guard isTaken else { return nil }
        return BLEError(
            .busy,
            operation: "connect",
            object: "to \(address)",
            cause: "a session of this program has the link",
            remedy: "Run commands and flows in `session.queue`, on the session's link."
        )
    }
}
