internal import Glibc

/// Short texts with names, which outlive the program and end with the machine's run.
///
/// A text is what a symbolic link points to: it is there whole or not at all, and takes one system call.
struct NoteFolder: Sendable {
    let path: String
    let kernel: Kernel

    init(path: String, of kernel: Kernel = .ofThisMachine) {
        self.path = path
        self.kernel = kernel
    }

    /// The first place that there is for this user: of the whole machine, of the service, of the session, or the one that
    /// everybody has. systemd's folder for run-time files is none of them: it is gone when the service ends.
    static func ofThisUser(of kernel: Kernel) -> NoteFolder? {
        let places = [
            "/run/blestreams",
            variable("STATE_DIRECTORY")?.split(separator: ":").first.map { "\($0)/leftovers" },
            variable("XDG_RUNTIME_DIR").map { "\($0)/blestreams" },
            "/tmp/blestreams-\(geteuid())",
        ]
        return places.lazy.compactMap { $0 }.map { NoteFolder(path: $0, of: kernel) }.first { $0.isOurs }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Whether it is there, made now or before, and nobody else writes into it. What is in its place and isn't a folder,
    /// a link for one, is not followed.
    var isOurs: Bool { makeOwnFolder(path, of: kernel) }

    var names: [String] { namesInFolder(path, of: kernel) }

    func read(_ name: String) -> String? { destination(ofLink: "\(path)/\(name)", of: kernel) }

    /// Writes a text in place of the one that there is.
    func write(_ text: String, as name: String) {
        removeName("\(path)/\(name)", of: kernel)
        makeLink(to: text, at: "\(path)/\(name)", of: kernel)
    }

    func remove(_ name: String) { removeName("\(path)/\(name)", of: kernel) }
}
