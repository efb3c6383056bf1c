extension SystemError {
    /// Whether something has run out, for this program or the whole machine: no permission would help.
    var isShortage: Bool { shortageRemedy != nil }

    /// How to get more of what has run out; `nil` if nothing has.
    var shortageRemedy: String? {
        switch self {
        case .tooManyOpenFiles:
            "Close files and sockets that the program doesn't need, or raise its limit (ulimit -n, LimitNOFILE=)."
        case .tooManyOpenFilesInSystem:
            "End programs that keep many files open, or raise the system's limit (sysctl fs.file-max)."
        case .noMemory, .noBufferSpace: "Free some memory on this machine, then try again."
        // Of all calls here only `epoll_ctl` has it, see epoll(7).
        case .noSpace:
            "Open fewer adapters and links, or raise the limit of watched files (sysctl fs.epoll.max_user_watches)."
        default: nil
        }
    }

    /// What to do about it, as far as its number shows.
    var remedy: String {
        if let shortageRemedy { return shortageRemedy }
        return switch self {
        case .wouldBlock: "Try again; raise the limit on threads (ulimit -u, TasksMax=) if it happens each time."
        case .notPermitted, .accessDenied:
            "Check what the service or container may do: its capabilities, RestrictAddressFamilies, its seccomp "
                + "profile."
        case .noDevice: "Check that the adapter is plugged in, then try again."
        default: "Try again; search the kernel's messages (sudo dmesg) for \"Bluetooth\" if it happens each time."
        }
    }
}
