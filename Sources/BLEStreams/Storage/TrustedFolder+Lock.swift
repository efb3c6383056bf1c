import CLibrary
import Dispatch

/// The lock by which programs take turns to change files.
extension TrustedFolder {
    /// Keeps other programs, and other stores, from changing files while it exists.
    struct Lock: ~Copyable {
        fileprivate let descriptor: Int32

        deinit {
            // A child that another thread is just starting also has the descriptor, until it runs its program.
            flock(descriptor, LOCK_UN)
            close(descriptor)
        }
    }

    private static let lockName = ".lock"

    /// Locks the folder; `nil` if another program still has it locked after that time.
    ///
    /// A program that was stopped while it wrote, or whose disk doesn't answer, never unlocks it.
    ///
    /// The corresponding C function is `flock`.
    func lock(within limit: Duration) throws(BLEError) -> Lock? {
        // If this followed a link put in its place, it would make a file of this user elsewhere.
        let file = openat(descriptor, Self.lockName, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { throw .store("lock", lockPath, errno: errno) }
        let lock = Lock(descriptor: file)
        guard try take(LOCK_EX, of: file, within: limit) else { return nil }
        // Left by a program that was killed while writing: it may contain keys.
        guard unlinkat(descriptor, Self.unfinished, 0) == 0 || errno == ENOENT else {
            throw .store("remove", "\(path)/\(Self.unfinished)", errno: errno)
        }
        return lock
    }

    /// Checks that the folder can be locked, and that no program keeps it locked for longer than that; makes nothing.
    func examineLock(within limit: Duration) throws(BLEError) {
        // As whoever changes a file does, but for making it.
        let file = openat(descriptor, Self.lockName, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            // Nobody has changed a file yet.
            if errno == ENOENT { return }
            throw .store("lock", lockPath, errno: errno)
        }
        let lock = Lock(descriptor: file)
        guard try take(LOCK_SH, of: lock.descriptor, within: limit) else { throw held(for: limit) }
    }

    /// The error if another program doesn't unlock the folder.
    func held(for limit: Duration) -> BLEError {
        let file = openat(descriptor, Self.lockName, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        defer { if file >= 0 { close(file) } }
        let time = "\(limit.components.seconds) s"
        guard file >= 0, let holder = Holder(ofLockOn: file) else {
            return .store(
                "lock",
                lockPath,
                cause: "another program keeps it locked for more than \(time)",
                remedy: "`fuser -v '\(lockPath)'` names that program: continue it if it is stopped, or end it."
            )
        }
        return .store(
            "lock",
            lockPath,
            cause: "\(holder) keeps it locked for more than \(time)\(holder.isStopped ? ", and is stopped" : "")",
            remedy: holder.isStopped
                ? "Continue it with `kill -CONT \(holder.process)`, or end it with `kill -KILL \(holder.process)`."
                : "Check that its disk answers, or end it with `kill \(holder.process)`."
        )
    }

    private var lockPath: String { "\(path)/\(Self.lockName)" }

    /// Whether the lock was taken within that time.
    ///
    /// The kernel offers no wait with a limit, so another thread waits. Both descriptors are of one open file: what
    /// that thread locks in time is this one's lock, and what it locks too late is unlocked as soon as it closes its
    /// own.
    private func take(_ kind: Int32, of file: Int32, within limit: Duration) throws(BLEError) -> Bool {
        if flock(file, kind | LOCK_NB) == 0 { return true }
        guard [EWOULDBLOCK, EINTR].contains(errno) else { throw .store("lock", lockPath, errno: errno) }
        guard limit > .zero else { return false }
        let copy = fcntl(file, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw .store("lock", lockPath, errno: errno) }
        let isOver = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            while flock(copy, kind) != 0, errno == EINTR {}
            close(copy)
            isOver.signal()
        }
        let milliseconds = Int(limit / .milliseconds(1))
        guard isOver.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else { return false }
        // It has the lock already, unless the wait has failed.
        guard flock(file, kind | LOCK_NB) == 0 else { throw .store("lock", lockPath, errno: errno) }
        return true
    }

    /// The program that has locked a file.
    private struct Holder: CustomStringConvertible {
        let process: Int32
        let name: String
        let isStopped: Bool

        var description: String { "the program \(name) (process \(process))" }

        /// `nil` if the system doesn't tell, such as for a program in another container. Source: proc(5), /proc/locks.
        init?(ofLockOn file: Int32) {
            var status = stat()
            guard fstat(file, &status) == 0 else { return nil }
            // `1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF`; file systems in layers have other numbers of devices.
            let number = ":\(status.st_ino)"
            var process: Int32?
            for line in Self.text("/proc/locks").split(separator: "\n") {
                let words = line.split(separator: " ")
                guard words.count > 5, words[1] == "FLOCK", words[5].hasSuffix(number) else { continue }
                process = Int32(words[4])
                break
            }
            guard let process, process > 0 else { return nil }
            let facts = Self.text("/proc/\(process)/stat")
            // `4711 (ble) T 1 …`: the name may have parentheses.
            guard let start = facts.firstIndex(of: "("), let end = facts.lastIndex(of: ")") else { return nil }
            self.process = process
            name = String(facts[facts.index(after: start)..<end])
            let state = facts[facts.index(after: end)...].drop { $0 == " " }
            isStopped = state.hasPrefix("T") || state.hasPrefix("t")
        }

        private static func text(_ path: String) -> String {
            let file = CLibrary.open(path, O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return "" }
            defer { close(file) }
            var octets: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = CLibrary.read(file, &buffer, buffer.count)
                guard count > 0 else { return String(decoding: octets, as: UTF8.self) }
                octets += buffer[..<count]
            }
        }
    }
}
