public import BLERadio

extension LinuxRadio {
    /// Waits for the kernel's answers on the management socket. What was cancelled while a command was under way is
    /// undone when that is answered: an advertisement monitor, or the keys of a pairing.
    public func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
        guard let management else { return timeline.schedule(after: .zero, done) }
        return management.whenIdle(done)
    }
}
