import Glibc

/// The signals that are ignored. One that was ignored when the program started stays ignored.
package enum IgnoredSignals {
    /// Whether a signal is ignored. To be asked before the program handles signals.
    ///
    /// `nohup` has SIGHUP ignored, `trap ''` in a shell has any signal ignored, and a shell without job control has
    /// SIGINT ignored by the programs that it runs in the background.
    package static func contains(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
