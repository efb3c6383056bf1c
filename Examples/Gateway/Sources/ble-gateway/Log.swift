import Glibc

/// Tells whoever runs the program a line, on standard error.
///
/// A line that can't be written is left out: the gateway goes on while the disk under its log is full, and when the
/// program that read the log has ended.
func say(_ line: String) {
    let octets = Array("\(line)\n".utf8)
    var rest = octets[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}

/// Keeps the numbers 0 to 2 for the standard streams: if one was closed when the program started, the next file or
/// connection would get its number, and the lines of the log would go there.
func keepStandardStreams() {
    // Each is opened the wrong way round, so that using it fails as before.
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
        _ = open("/dev/null", mode)
    }
}
