import BLEProtocol
import BLERadio
import Synchronization

/// The link that commands use one after the other: one that somebody else keeps, or one that they make and end.
final class CommandConnection: Sendable {
    private struct State {
        var link: Link?
        /// Counts the links.
        var number = 0
        /// After how long without a command the link is dropped.
        var idleLimit: Duration?
    }

    let peripheral: Peripheral

    /// Whether commands may make and end the link.
    let isOwn: Bool
    private let state: Mutex<State>

    var timeline: any Timeline { peripheral.core.timeline }

    /// Of a link that stands, and is somebody else's to end.
    init(given link: Link) {
        peripheral = link.peripheral
        isOwn = false
        state = Mutex(State(link: link, number: 1))
    }

    /// Of a peripheral that is not connected yet.
    init(to peripheral: Peripheral) {
        self.peripheral = peripheral
        isOwn = true
        state = Mutex(State())
    }

    /// The link, where there is one and it stands.
    var link: Link? { state.withLock { state in state.link.flatMap { $0.bearer.end == nil ? $0 : nil } } }

    /// Which of the links this is, counted from 1.
    var number: Int { state.withLock { $0.number } }

    /// Why there is no link any more; `nil` where there never was one.
    var end: DisconnectReason? { state.withLock { $0.link?.bearer.end } }

    var idleLimit: Duration? {
        get { state.withLock { $0.idleLimit } }
        set { state.withLock { $0.idleLimit = newValue } }
    }

    func adopt(_ link: Link) {
        state.withLock { state in
            state.link = link
            state.number += 1
        }
    }

    /// Takes the link out, to end it.
    func take() -> Link? {
        state.withLock { state in
            state.idleLimit = nil
            return state.link.take()
        }
    }

    /// A context for one command, with the link for itself where there is one.
    func context(_ report: @escaping @Sendable (CommandProgress) -> Void) async throws -> CommandContext {
        guard let link else { return CommandContext(self, report: report) }
        do {
            let hold = try await link.acquire()
            return CommandContext(self, hold: hold, of: link, report: report)
        } catch let error as BLEError where error.code == .disconnected {
            return CommandContext(self, report: report)
        }
    }
}
