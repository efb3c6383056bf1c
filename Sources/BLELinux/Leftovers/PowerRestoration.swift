internal import BLEProtocol
internal import BLERadio

/// Switches an adapter on that a program of this library had switched off briefly, or was resetting, when it was
/// killed.
///
/// It does that at the beginning, and when the adapter is plugged in or ready later: a controller that is being reset
/// comes back after some seconds, and the program may have been started again by then.
final class PowerRestoration: Sendable {
    private let observation: RadioActivity?

    init(of adapter: LinuxAdapter, _ leftovers: Leftovers, through management: ManagementSocket?, loop: EventLoop) {
        guard let management else {
            observation = nil
            return
        }
        let restore: @Sendable (ManagementSocket) -> Void = { management in
            guard let facts = adapter.facts else { return }
            leftovers.restorePower(of: facts, through: management)
        }
        // Not immediately: an answer that is delivered together with the event may still hold the note.
        let restoreSoon: @Sendable () -> Void = { [weak management] in
            loop.enqueue { [weak management] in
                if let management, !adapter.isUp { restore(management) }
            }
        }
        observation = management.observe { events in
            if events.contains(where: \.event.tellsOfArrival) { restoreSoon() }
        } lost: { _ in
            restoreSoon()
        }
        loop.enqueue { restore(management) }
    }
}

extension ManagementEvent {
    /// Whether the kernel takes commands for an adapter from now on.
    fileprivate var tellsOfArrival: Bool {
        switch self {
        case .indexAdded, .extendedIndexAdded: true
        default: false
        }
    }
}
