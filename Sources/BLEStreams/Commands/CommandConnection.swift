import BLEProtocol
import BLERadio
import Synchronization

/// The link that the commands of a queue use in turn: one that somebody else keeps, one that they make and end, or
/// whichever a session has.
final class CommandConnection: Sendable {
    /// Where the links come from.
    enum Source: Sendable {
        /// One link, somebody else's to end.
        case link(Link)
        /// Links that the commands make and end.
        case peripheral(Peripheral)
        /// The links of a session, one after the other.
        case session(SessionReference)
    }

    private struct State {
        var link: Link?
        /// The number of links so far.
        var number = 0
        /// How long the link stays up without a command.
        var idleLimit: Duration?
        /// What the running command waits for before its work, if it does.
        var delay: CommandDelay?
    }

    let source: Source
    let timeline: any Timeline
    private let state: Mutex<State>

    /// Uses a link that is up, and that somebody else ends.
    init(given link: Link) {
        source = .link(link)
        timeline = link.timeline
        state = Mutex(State(link: link, number: 1))
    }

    /// Makes links to a peripheral that is not connected yet.
    init(to peripheral: Peripheral) {
        source = .peripheral(peripheral)
        timeline = peripheral.core.timeline
        state = Mutex(State())
    }

    /// Uses the links of a session.
    init(of session: Session) {
        source = .session(SessionReference(session))
        timeline = session.core.timeline
        state = Mutex(State())
    }

    /// Whether commands may make and end the link.
    var makesLinks: Bool { if case .peripheral = source { true } else { false } }

    /// Whether another link may follow a lost one.
    var hasNextLink: Bool { if case .link = source { false } else { true } }

    /// The device; `nil` until a session has found it.
    var peripheral: Peripheral? {
        switch source {
        case .link(let link): link.peripheral
        case .peripheral(let peripheral): peripheral
        case .session(let reference): reference.session?.peripheral
        }
    }

    /// The device, as errors name it.
    var object: String {
        switch source {
        case .link, .peripheral: peripheral.map { "\($0)" } ?? ""
        case .session(let reference): reference.description
        }
    }

    /// The link; `nil` if none is up.
    var link: Link? {
        let link =
            switch source {
            case .link, .peripheral: state.withLock { $0.link }
            case .session(let reference): reference.session?.link
            }
        return link.flatMap { $0.bearer.end == nil ? $0 : nil }
    }

    /// The number of the present link, counted from 1.
    var number: Int { state.withLock { $0.number } }

    /// Why the link has ended; `nil` if there never was one.
    var end: DisconnectReason? { state.withLock { $0.link?.bearer.end } }

    /// How long the link may be idle; `nil`: as long as it likes. It is for the present link only.
    var idleLimit: Duration? {
        get { state.withLock { $0.idleLimit } }
        set { state.withLock { $0.idleLimit = $0.link == nil ? nil : newValue } }
    }

    /// What keeps the running command from its work: its link, or its turn on that; `nil` while it works.
    var delay: SessionPatience.Wait? { state.withLock { $0.delay }?.wait }

    /// Why no command has its turn; `nil` unless they are those of a session that isn't run.
    var idleness: SessionPatience.Wait? {
        guard case .session(let reference) = source, let session = reference.session, !session.orders.isDriven else {
            return nil
        }
        return CommandDelay.unready(session).wait
    }

    /// Notes what the running command waits for; `nil`: for nothing any more.
    func note(_ delay: CommandDelay?) {
        // Released outside the lock: what it holds may be deallocated with it.
        let former = state.withLock { state in
            defer { state.delay = delay }
            return state.delay
        }
        withExtendedLifetime(former) {}
    }

    /// Records the link in use.
    func adopt(_ link: Link) {
        state.withLock { state in
            if state.link?.bearer !== link.bearer {
                state.number += 1
                state.idleLimit = nil
            }
            state.link = link
        }
    }

    /// Takes the link out, to end it; `nil` if somebody else ends it.
    func take() -> Link? {
        guard makesLinks else { return nil }
        return state.withLock { state in
            state.idleLimit = nil
            return state.link.take()
        }
    }

    /// The work of one command. Each attempt begins by waiting for a session's link.
    ///
    /// - Parameter findsLink: whether each attempt begins by finding a link of the other sources too, within its own
    ///   limit. Otherwise the work begins with exclusive use of the link, if one is up.
    func work(
        of name: String,
        findsLink: Bool,
        _ report: @escaping @Sendable (CommandProgress) -> Void
    ) async throws -> CommandWork {
        switch source {
        case .session(let reference):
            let session = try reference.standing()
            let nobody = Peripheral(core: session.core, address: BluetoothAddress(rawValue: 0, kind: .public))
            return CommandWork(name, self, session.peripheral ?? nobody, hold: nil, report: report)
        case .link(let link):
            let held = try await findsLink ? nil : hold()
            return CommandWork(name, self, link.peripheral, hold: held, report: report)
        case .peripheral(let peripheral):
            let held = try await findsLink ? nil : hold()
            return CommandWork(name, self, peripheral, hold: held, report: report)
        }
    }

    /// Waits for exclusive use of the link; `nil` if none is up. A session has turns of its own.
    ///
    /// - Parameter limit: how long to wait while another user has it, and the error to throw then; `nil`: no limit.
    func hold(limit: (duration: Duration, error: @Sendable () -> any Error)? = nil) async throws -> LinkHold? {
        guard let link else { return nil }
        // The giver already holds it exclusively; the queue still runs one command at a time.
        if link.bearer.isHeld(by: link.pass) { return LinkHold(link: link) }
        note(.held)
        defer { note(nil) }
        do {
            let entry = try await link.acquire(limit: limit)
            return LinkHold(link: Link(link, pass: entry.id), entry: entry)
        } catch let error as BLEError where error.code == .disconnected {
            return nil
        }
    }
}

/// A link of which a command has exclusive use.
struct LinkHold: Sendable {
    /// The handle that belongs to the hold.
    let link: Link
    /// The hold; `nil` if the caller of the command already holds the link.
    var entry: Bearer.Hold?
    /// Releases what was acquired with the hold.
    var release: @Sendable () -> Void = {}
}
