public import BLERadio

extension LinuxRadio {
    /// Waits for the kernel's answers on the management socket. What was cancelled while a command was under way is
    /// undone when that is answered: an advertisement monitor, or the keys of a pairing. What switches the adapter off
    /// for a moment, or repeats a command for its power, is waited for too.
    public func settle(_ done: @escaping @Sendable () -> Void) -> RadioActivity {
        guard let management else { return timeline.schedule(after: .zero, done) }
        let isOver = Ending<Void>()
        isOver.cancel(powerWork.whenOver { isOver.cancel(management.whenIdle(done)) })
        return RadioActivity { isOver.end() }
    }
}
