/// Faults of Linux itself that a program can work around.
///
/// Two more are known only by what they leave behind, on any kernel: ``ForgottenLinks`` and ``StuckAttempts``.
enum KernelFaults {
    /// Linux 6.1.192, a kernel of Debian 12, frees a part of a connection twice: when the connection ends, and again
    /// when its socket is closed. That kills the closing thread, with a "kernel BUG" or a general protection fault in
    /// `hci_chan_del`, whether the peer ended the connection or the adapter went off. Closing a socket before its
    /// connection ends is safe. Earlier 6.1 kernels and 6.12 don't have the fault.
    static let killsWhoClosesDeadSockets = has(release: kernelRelease())

    /// The known faults of a kernel, each as part of a sentence.
    static func known(in release: String) -> [String] {
        guard has(release: release) else { return [] }
        return [
            "the kernel \(release) may end the thread that closes the socket of a lost link, which the library avoids "
                + "by closing such sockets on threads of their own",
            "the kernel \(release) may damage its memory when a list of keys is loaded during a pairing",
        ]
    }

    /// ``killsWhoClosesDeadSockets`` for a kernel that a test may replace.
    static func killsWhoClosesDeadSockets(of kernel: Kernel) -> Bool {
        kernel.substitute.map { has(release: $0.release) } ?? killsWhoClosesDeadSockets
    }

    /// Whether a kernel may have the fault. Which releases of the series have it is not known, so all of them count.
    static func has(release: String) -> Bool { release.hasPrefix("6.1.") }
}
