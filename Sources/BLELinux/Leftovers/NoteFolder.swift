internal import Glibc

/// Short named texts, which outlive the program and end when the machine is restarted.
///
/// A text is the target of a symbolic link: it exists whole or not at all, and takes one system call.
struct NoteFolder: Sendable {
    let path: String
    let kernel: Kernel

    init(path: String, of kernel: Kernel = .ofThisMachine) {
        self.path = path
        self.kernel = kernel
    }

    /// The first place that this user has: of the whole machine, of the service, of the session, or the one for
    /// everybody. systemd's folder for run-time files isn't among them: it is gone when the service ends.
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

    /// Whether it exists, made now or before, and nobody else can write into it. Something else in its place, such as a
    /// link, is not followed.
    var isOurs: Bool { makeOwnFolder(path, of: kernel) }

    var names: [String] { namesInFolder(path, of: kernel) }

    func read(_ name: String) -> String? { destination(ofLink: "\(path)/\(name)", of: kernel) }

    /// Writes a text, replacing any existing one.
    func write(_ text: String, as name: String) {
        removeName("\(path)/\(name)", of: kernel)
        makeLink(to: text, at: "\(path)/\(name)", of: kernel)
    }

    func remove(_ name: String) { removeName("\(path)/\(name)", of: kernel) }
}
