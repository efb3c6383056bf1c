/// The path of this program's file, which commands that grant it something need.
struct ProgramPath: Hashable, Sendable, CustomStringConvertible {
    var description: String

    init(of kernel: Kernel = .ofThisMachine) {
        // What the kernel adds once the file was replaced, by a build or an update: the new one has the path.
        let addition = " (deleted)"
        let path = destination(ofLink: "/proc/self/exe", of: kernel) ?? "PATH-OF-THE-PROGRAM"
        description = path.hasSuffix(addition) ? String(path.dropLast(addition.count)) : path
    }

    /// The path as one word of a command.
    var word: String {
        let isPlain = description.allSatisfy { $0.isLetter || $0.isNumber || "/._-+".contains($0) }
        if isPlain { return description }
        return "'" + description.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
            + "'"
    }
}
