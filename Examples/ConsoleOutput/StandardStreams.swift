import Glibc

/// Keeps the numbers 0 to 2 for the standard streams: if one was closed when the program started, the next file or
/// socket would get its number, and what is printed would go there.
package func keepStandardStreams() {
    // Each is opened the wrong way round, so that using it fails as before.
    for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
    where fcntl(descriptor, F_GETFD) < 0 {
        _ = open("/dev/null", mode)
    }
}
