/// What Linux itself does wrong, where a program can go round it.
enum KernelFaults {
    /// Linux 6.1.192, Debian 12's kernel of that time, frees a part of a connection twice: when the connection has
    /// ended and again when the socket that had it is closed. That kills the thread that closes, with a "kernel BUG"
    /// or a general protection fault in `hci_chan_del`, whether the peer ended the connection or the adapter went off.
    /// A socket that is closed before its connection ends is safe. Earlier 6.1 kernels and 6.12 don't have the fault.
    static let killsWhoClosesDeadSockets = has(release: kernelRelease())

    /// What is known to be wrong with a kernel, each as part of a sentence.
    static func known(in release: String) -> [String] {
        guard has(release: release) else { return [] }
        return [
            "the kernel \(release) may end the thread that closes the socket of a lost link, which the library avoids "
                + "by closing such sockets on threads of their own",
            "the kernel \(release) may damage its memory when a list of keys is loaded during a pairing",
        ]
    }

    /// ``killsWhoClosesDeadSockets`` of a kernel that a test stands in for.
    static func killsWhoClosesDeadSockets(of kernel: Kernel) -> Bool {
        kernel.substitute.map { has(release: $0.release) } ?? killsWhoClosesDeadSockets
    }

    /// Whether a kernel may have the fault. Which of the line have it only Debian knows, so all are taken to.
    static func has(release: String) -> Bool { release.hasPrefix("6.1.") }
}
