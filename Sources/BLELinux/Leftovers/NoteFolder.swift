internal import Glibc

/// Short texts with names, which outlive the program and end with the machine's run.
///
/// A text is what a symbolic link points to: it is there whole or not at all, and takes one system call.
struct NoteFolder: Sendable {
    let path: String

    init(path: String) { self.path = path }

    /// The first place that there is for this user: of the whole machine, of the service, of the session, or the one that
    /// everybody has. systemd's folder for run-time files is none of them: it is gone when the service ends.
    static var ofThisUser: NoteFolder? {
        let places = [
            "/run/blestreams",
            variable("STATE_DIRECTORY")?.split(separator: ":").first.map { "\($0)/leftovers" },
            variable("XDG_RUNTIME_DIR").map { "\($0)/blestreams" },
            "/tmp/blestreams-\(geteuid())",
        ]
        return places.lazy.compactMap { $0 }.map(NoteFolder.init).first { $0.isOurs }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Whether it is there, made now or before, and nobody else writes into it. What is in its place and isn't a folder,
    /// a link for one, is not followed. The corresponding C functions are `mkdir` and `lstat`.
    var isOurs: Bool {
        _ = mkdir(path, 0o700)
        var facts = stat()
        guard lstat(path, &facts) == 0 else { return false }
        return facts.st_mode & S_IFMT == S_IFDIR && facts.st_uid == geteuid() && facts.st_mode & 0o022 == 0
    }

    var names: [String] { namesInFolder(path) }

    func read(_ name: String) -> String? { destination(ofLink: "\(path)/\(name)") }

    /// Writes a text in place of the one that there is. The corresponding C functions are `unlink` and `symlink`.
    func write(_ text: String, as name: String) {
        unlink("\(path)/\(name)")
        _ = symlink(text, "\(path)/\(name)")
    }

    /// The corresponding C function is `unlink`.
    func remove(_ name: String) { unlink("\(path)/\(name)") }
}
