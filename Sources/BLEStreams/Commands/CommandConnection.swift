import BLEProtocol
import BLERadio
import Synchronization

/// The link that commands use one after the other: one that somebody else keeps, one that they make and end, or
/// whichever a session has.
final class CommandConnection: Sendable {
    /// Whose links they are.
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
        /// Counts the links.
        var number = 0
        /// After how long without a command the link is dropped.
        var idleLimit: Duration?
    }

    let source: Source
    let timeline: any Timeline
    private let state: Mutex<State>

    /// Of a link that stands, and is somebody else's to end.
    init(given link: Link) {
        source = .link(link)
        timeline = link.timeline
        state = Mutex(State(link: link, number: 1))
    }

    /// Of a peripheral that is not connected yet.
    init(to peripheral: Peripheral) {
        source = .peripheral(peripheral)
        timeline = peripheral.core.timeline
        state = Mutex(State())
    }

    /// Of a session.
    init(of session: Session) {
        source = .session(SessionReference(session))
        timeline = session.core.timeline
        state = Mutex(State())
    }

    /// Whether commands may make and end the link.
    var makesLinks: Bool { if case .peripheral = source { true } else { false } }

    /// Whether another link may follow one that is lost.
    var hasNextLink: Bool { if case .link = source { false } else { true } }

    /// The device; `nil` where a session is yet to find it.
    var peripheral: Peripheral? {
        switch source {
        case .link(let link): link.peripheral
        case .peripheral(let peripheral): peripheral
        case .session(let reference): reference.session?.peripheral
        }
    }

    /// The device in errors.
    var object: String {
        switch source {
        case .link, .peripheral: peripheral.map { "\($0)" } ?? ""
        case .session(let reference): reference.description
        }
    }

    /// The link, where there is one and it stands.
    var link: Link? {
        let link =
            switch source {
            case .link, .peripheral: state.withLock { $0.link }
            case .session(let reference): reference.session?.link
            }
        return link.flatMap { $0.bearer.end == nil ? $0 : nil }
    }

    /// Which of the links this is, counted from 1.
    var number: Int { state.withLock { $0.number } }

    /// Why there is no link any more; `nil` where there never was one.
    var end: DisconnectReason? { state.withLock { $0.link?.bearer.end } }

    var idleLimit: Duration? {
        get { state.withLock { $0.idleLimit } }
        set { state.withLock { $0.idleLimit = newValue } }
    }

    /// Takes note of the link that is used now.
    func adopt(_ link: Link) {
        state.withLock { state in
            if state.link?.bearer !== link.bearer { state.number += 1 }
            state.link = link
        }
    }

    /// Takes the link out, to end it; `nil` where it is somebody else's.
    func take() -> Link? {
        guard makesLinks else { return nil }
        return state.withLock { state in
            state.idleLimit = nil
            return state.link.take()
        }
    }

    /// What one command works with: the link for itself, where there is one. That of a session is waited for at the
    /// beginning of each attempt.
    func work(_ report: @escaping @Sendable (CommandProgress) -> Void) async throws -> CommandWork {
        switch source {
        case .session(let reference):
            let session = try reference.standing()
            let nobody = Peripheral(core: session.core, address: BluetoothAddress(rawValue: 0, kind: .public))
            return CommandWork(self, session.peripheral ?? nobody, hold: nil, report: report)
        case .link(let given):
            return CommandWork(self, given.peripheral, hold: try await hold(), report: report)
        case .peripheral(let peripheral):
            return CommandWork(self, peripheral, hold: try await hold(), report: report)
        }
    }

    private func hold() async throws -> LinkHold? {
        guard let link else { return nil }
        // Whoever gave it holds it: its commands come one after the other all the same.
        if link.bearer.isHeld(by: link.pass) { return LinkHold(link: link) }
        do {
            let entry = try await link.acquire()
            return LinkHold(link: Link(link, pass: entry.id), entry: entry)
        } catch let error as BLEError where error.code == .disconnected {
            return nil
        }
    }
}

/// A link that a command has for itself.
struct LinkHold: Sendable {
    /// The link in the name of the hold.
    let link: Link
    /// The place in the lane; `nil` for a link that is held by whoever runs the command.
    var entry: Bearer.Hold?
    /// Gives back what was taken besides.
    var release: @Sendable () -> Void = {}
}
