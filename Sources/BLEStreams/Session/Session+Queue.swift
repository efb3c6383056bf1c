import BLEProtocol
import BLERadio
import Synchronization

extension Session {
    /// A queue whose commands and flows run on the session's link, one at a time, each with the link for itself.
    ///
    /// ```swift
    /// let image = try FirmwareImage(file: "app_update.bin")
    /// try await session.queue.run(FirmwareUpdateFlow(image))
    /// let level = session.queue.enqueue(.read(.batteryLevel).retry())
    /// print(try await level.value)
    /// ```
    ///
    /// A command waits while the session has no link that is ready; one that is retried, and a flow that resumes, goes on
    /// on the session's next link when the link is lost. ``CommandQueue/connecting(timeout:then:)`` limits how long it
    /// waits for one; a deadline counts all of it. Commands that connect or disconnect fail with
    /// ``BLEError/Code/notSupported``: the session does that.
    ///
    /// The session's streams go on meanwhile: values arrive, and those who ask see a gap where a link was lost.
    /// ``CharacteristicAccess/read(_:timeout:)``,
    /// ``CharacteristicAccess/write(_:to:_:timeout:)-(Collection<UInt8>,_,_,_)`` and subscriptions that are not on yet wait
    /// until the command has ended.
    ///
    /// Commands fail with the session's error once it has failed; when the session ends they are cancelled, and fail with
    /// ``BLEError/Code/ended``. It is the same queue each time.
    public var queue: CommandQueue { CommandQueue(core: queueCore) }

    /// Takes the link of the session for one command, once there is one and it is ready.
    ///
    /// - Parameter timeout: for how long to wait until the session is ready; `nil`: for as long as it takes.
    func hold(timeout: Duration?) async throws -> LinkHold {
        let end = timeout.map { core.timeline.now + $0 }
        while true {
            let link = try await readyLink(before: end, timeout)
            // What the state shows, reading and the like, comes one at a time with this.
            let leave = try await turns.enter(on: core.timeline)
            do {
                let entry = try await link.acquire()
                // Who drives the session waits for a turn too, and makes the next link.
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

    /// Waits for a link that is ready and stands: the state tells of a lost one a moment later.
    private func readyLink(before end: Duration?, _ timeout: Duration?) async throws -> Link {
        let (board, object, timeline) = (board, "with \(self)", core.timeline)
        let limit = end.map { end -> (Duration, @Sendable () -> any Error) in
            let error: @Sendable () -> any Error = {
                let state = board.current.kind.words
                return BLEError.timedOut(
                    "session",
                    object: object,
                    after: timeout ?? .zero,
                    waitingFor: "it is \(state)"
                )
            }
            return (max(.zero, end - timeline.now), error)
        }
        return try await reply(on: timeline, limit: limit) { finish in
            board.wait { [weak self] state in
                switch state {
                case .connected(.ready):
                    guard let link = self?.link, link.bearer.end == nil else { return false }
                    finish(.success(link))
                case .failed(let error): finish(.failure(error))
                default: return false
                }
                return true
            }
        }
    }

    /// Refuses what would wait for the command that does it.
    func refuseInQueue(_ operation: String) throws {
        if queueCore.isInside { throw waitsForItself(operation) }
    }

    func waitsForItself(_ operation: String) -> BLEError {
        BLEError(
            .deadlock,
            operation: operation,
            object: "with \(self)",
            cause: "a command of the session's queue has the link for itself, and would wait for itself",
            remedy: "Use the link that the command was given: `context.link`."
        )
    }
}

/// A session that is not kept alive.
struct SessionReference: Sendable, CustomStringConvertible {
    weak let session: Session?
    let description: String

    init(_ session: Session) {
        self.session = session
        description = "\(session)"
    }

    /// The session.
    ///
    /// - Throws: ``BLEError/Code/ended`` where nobody has it any more.
    func standing() throws -> Session {
        guard let session else {
            throw BLEError(
                .ended,
                operation: "command",
                object: "on \(description)",
                cause: "the session is over",
                remedy: "Run commands while the session runs."
            )
        }
        return session
    }
}

/// Which peripherals have a link that is a session's: for telling queues that want to make one of their own.
final class SessionLinks: Sendable {
    private let addresses = Mutex<[ObjectIdentifier: UInt64]>([:])

    func set(_ address: BluetoothAddress?, of session: Session) {
        addresses.withLock { $0[ObjectIdentifier(session)] = address?.rawValue }
    }

    /// What to say to a queue that wants to make a link to the peripheral; `nil` where no session has one.
    func refusal(_ address: BluetoothAddress) -> BLEError? {
        guard addresses.withLock({ $0.values.contains(address.rawValue) }) else { return nil }
        return BLEError(
            .busy,
            operation: "connect",
            object: "to \(address)",
            cause: "a session of this program has the link to it",
            remedy: "Run commands and flows in `session.queue`, on the session's link."
        )
    }
}
