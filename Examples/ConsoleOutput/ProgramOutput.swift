@preconcurrency import Glibc

/// Has each printed line written at once, even to a pipe or the journal of a service, which would otherwise get nothing
/// until there are 4 kB; and none to a file or socket of the program, if it was started without standard output. To be
/// called before anything is opened or printed.
package func printLinesAtOnce() {
    keepStandardStreams()
    setvbuf(stdout, nil, _IOLBF, 0)
}

/// Prints a line that must not be lost: unlike `print`, it says if the line can't be written.
package func printResult(_ line: String) throws(UnwrittenOutput) {
    guard fputs("\(line)\n", stdout) >= 0, fflush(stdout) == 0 else { throw UnwrittenOutput(number: errno) }
}

/// Standard output can't be written, for example because the disk is full.
package struct UnwrittenOutput: Error, CustomStringConvertible {
    /// The error's number, as C has it.
    let number: Int32

    package var description: String {
        "Standard output can't be written: \(String(cString: strerror(number))). Make room on its disk, or write to "
            + "another place, and start the program again."
    }
}

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
