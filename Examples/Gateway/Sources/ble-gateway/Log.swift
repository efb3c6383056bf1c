import Glibc

/// Tells whoever runs the program a line, on standard error.
///
/// A line that can't be written at once is left out: the gateway goes on, and can be ended, while the disk under its
/// log is full, and when the program that read the log has ended or doesn't read any more.
func say(_ line: String) {
    let octets = Array("\(line)\n".utf8)
    var rest = octets[...]
    while !rest.isEmpty {
        var wanted = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&wanted, 1, 0) == 1 else { return }
        // A pipe with room takes this much without waiting (pipe(7), `PIPE_BUF`).
        let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, min($0.count, 4096)) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}
