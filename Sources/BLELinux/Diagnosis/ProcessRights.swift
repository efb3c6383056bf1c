internal import Synchronization

/// What the kernel lets this process do, and where the process runs, which is where to change that.
///
/// Source: proc_pid_status(5), capabilities(7), user_namespaces(7).
struct ProcessRights: Hashable, Sendable {
    /// What started the process, and so decides its rights.
    enum Surroundings: Hashable, Sendable {
        case shell
        /// A unit of systemd: `gateway.service`.
        case service(String)
        case container
    }

    /// The bits of the effective capabilities; `nil` if the system doesn't show them.
    var effective: UInt64?
    /// The bits of the inheritable capabilities, among which are those that a unit of systemd grants; `nil` if the
    /// system doesn't show them.
    var inheritable: UInt64?
    /// Whether they apply only to a part of the system that excludes Bluetooth.
    var isInUserNamespace: Bool
    /// Whether no program that it starts gets more rights than it has: the capabilities of files have no effect.
    ///
    /// Source: kernel, `Documentation/userspace-api/no_new_privs.rst`.
    var gainsNone: Bool
    var surroundings: Surroundings
    var program: ProgramPath
    /// Whether each file was read that the system shows: nothing had run out, such as descriptors.
    let isComplete: Bool

    /// Those of this process, as they were when all was read for the first time: where it runs doesn't change.
    private static let ofThisProcess = Mutex<ProcessRights?>(nil)

    /// How to give this program a capability where it runs.
    static func remedy(for capability: Capability, on kernel: Kernel) -> String {
        guard kernel.substitute == nil else { return ProcessRights(of: kernel).remedy(for: capability) }
        if let known = ofThisProcess.withLock({ $0 }) { return known.remedy(for: capability) }
        let rights = ProcessRights(of: kernel)
        if rights.isComplete { ofThisProcess.withLock { $0 = rights } }
        return rights.remedy(for: capability)
    }

    init(of kernel: Kernel) {
        var files = ProcessFiles(kernel: kernel)
        let status = files.text("/proc/self/status") ?? ""
        effective = Self.field("CapEff:", in: status).flatMap { UInt64($0, radix: 16) }
        inheritable = Self.field("CapInh:", in: status).flatMap { UInt64($0, radix: 16) }
        gainsNone = Self.field("NoNewPrivs:", in: status) == "1"
        let map = files.firstLine("/proc/self/uid_map").split(separator: " ")
        isInUserNamespace = !map.isEmpty && map != ["0", "0", "4294967295"]
        program = ProgramPath(of: kernel)
        surroundings = Self.surroundings(on: kernel, &files)
        isComplete = files.isComplete
    }

    private static func field(_ name: String, in status: String) -> Substring? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
        return line.map { $0.dropFirst(name.count).drop(while: \.isWhitespace) }
    }

    private static func surroundings(on kernel: Kernel, _ files: inout ProcessFiles) -> Surroundings {
        for mark in ["/.dockerenv", "/run/.containerenv", "/run/systemd/container"] where files.text(mark) != nil {
            return .container
        }
        if let space = destination(ofLink: "/proc/self/ns/pid", of: kernel), space != Bluetoothd.machinesProcesses {
            return .container
        }
        // A user's session is a scope, even if sshd or a terminal has begun it; a user's own service can't be given a
        // capability by its unit. A unit of the system may be in a slice of its own.
        let group = files.firstLine("/proc/self/cgroup").split(separator: "/")
        guard !group.contains("user.slice"), let unit = group.last, unit.hasSuffix(".service") else { return .shell }
        return .service(String(unit))
    }

    /// Whether it has a capability for the adapters; `nil` if that is not known.
    func has(_ capability: Capability) -> Bool? {
        guard !isInUserNamespace else { return false }
        return effective.map { $0 & 1 << capability.number != 0 }
    }

    /// Whether the unit grants a capability that the program has lost to those of its file.
    ///
    /// A file that has any clears the ambient capabilities, with which systemd grants them, and keeps the inheritable
    /// ones.
    private func isReplaced(_ capability: Capability) -> Bool {
        guard let effective, let inheritable else { return false }
        return inheritable & ~effective & 1 << capability.number != 0
    }

    /// How to give the program a capability where it runs.
    ///
    /// - Parameter others: those that the same text says to give it before this one.
    func remedy(for capability: Capability, behind others: [Capability] = []) -> String {
        let name = capability.rawValue
        // `setcap` replaces what the file has, and so takes away whatever it doesn't name.
        let all = Capability.allCases.filter { $0 == capability || others.contains($0) || has($0) == true }
        let names = all.map(\.rawValue).joined(separator: ",")
        switch surroundings {
        case .shell:
            if isInUserNamespace { return "Run it outside the user namespace (unshare, bwrap, rootless podman)." }
            let start =
                gainsNone
                ? "Start it without no_new_privs (NoNewPrivileges= of a user's unit, setpriv, bwrap), and run" : "Run"
            return "\(start) \"sudo setcap '\(names)+ep' \(program.word)\" after each build, or run it as root."
        case .service(let unit) where isReplaced(capability):
            return "Run \"sudo setcap -r \(program.word)\", then \"sudo systemctl restart \(unit)\": the unit grants "
                + "it, but the capabilities that setcap has given the program's file replace those of the unit."
        case .service(let unit):
            return "Run \"sudo systemctl edit \(unit)\", add \"AmbientCapabilities=\(name.uppercased())\" below "
                + "[Service] (and to CapabilityBoundingSet=, if it is set), then \"sudo systemctl restart \(unit)\"."
        case .container:
            // A file may have no capability that the container hasn't: the program would not start.
            let options = all.map { "--cap-add=\($0.rawValue.uppercased().dropFirst(4))" }.joined(separator: " ")
            let start =
                "Start the container with \(options), by a Docker or podman that runs as root; in it, run the "
                + "program as root"
            if gainsNone { return "\(start)." }
            return "\(start), or give it the capability in the image: \"setcap '\(names)+ep' \(program.word)\"."
        }
    }
}

/// Reads the files that say what the process may do and where it runs.
private struct ProcessFiles {
    let kernel: Kernel
    /// Whether none was kept from being read because something has run out, such as descriptors.
    private(set) var isComplete = true

    init(kernel: Kernel) { self.kernel = kernel }

    /// The whole text of a file; `nil` if it can't be read.
    mutating func text(_ path: String) -> String? {
        do throws(SystemError) {
            return try readWholeFile(path, of: kernel)
        } catch {
            if error.isShortage { isComplete = false }
            return nil
        }
    }

    /// The first line of a file; empty if it can't be read.
    mutating func firstLine(_ path: String) -> Substring {
        text(path)?.split(separator: "\n", maxSplits: 1).first ?? ""
    }
}

extension Capability {
    /// Its bit. Source: kernel, `include/uapi/linux/capability.h`.
    fileprivate var number: UInt64 {
        switch self {
        case .networkAdministration: 12
        case .rawNetwork: 13
        }
    }
}
