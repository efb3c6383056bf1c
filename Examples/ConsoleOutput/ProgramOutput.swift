@preconcurrency import Glibc

/// Has each printed line written at once, even to a pipe or the journal of a service, which would otherwise get nothing
/// until there are 4 kB. To be called before anything is printed.
package func printLinesAtOnce() { setvbuf(stdout, nil, _IOLBF, 0) }

/// Prints what isn't a result to standard error, with whatever a terminal would interpret escaped.
package func printError(_ text: String) {
    let octets = Array("\(text.harmlessLines)\n".utf8)
    _ = octets.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Whether lines can be rewritten in place on this descriptor: whether it is a terminal that moves its cursor. A dumb
/// one, such as a shell in Emacs, would show what moves it.
package func canRewriteLines(on descriptor: Int32) -> Bool {
    isatty(descriptor) == 1 && getenv("TERM").map { String(cString: $0) } != "dumb"
}
