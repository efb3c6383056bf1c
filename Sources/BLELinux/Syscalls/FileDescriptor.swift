internal import CBluetooth
internal import Glibc
internal import Synchronization

/// An open file descriptor, owned by one variable and closed with it.
///
/// The system calls are its methods, in the files of this folder; nothing else in the module calls libc for them.
package struct FileDescriptor: ~Copyable, Sendable {
    let rawValue: Int32
    /// The kernel that it belongs to.
    let kernel: Kernel
    private let isClosedApart = Atomic(false)

    /// Takes ownership of a descriptor opened elsewhere.
    package init(owning rawValue: Int32, of kernel: Kernel = .ofThisMachine) {
        self.rawValue = rawValue
        self.kernel = kernel
    }

    // Linux has freed the number whatever `close` returns, so it is never called twice.
    deinit {
        if isClosedApart.load(ordering: .acquiring) {
            closeApart(rawValue, of: kernel)
        } else {
            closeNow(rawValue, of: kernel)
        }
    }

    /// Notes that the kernel has ended the connection of this socket, which must still be closed.
    func noteDeath() {
        if KernelFaults.killsWhoClosesDeadSockets(of: kernel) { isClosedApart.store(true, ordering: .releasing) }
    }
}

private func closeNow(_ descriptor: Int32, of kernel: Kernel) {
    if let substitute = kernel.substitute { substitute.close(descriptor) } else { Glibc.close(descriptor) }
}

/// Closes a descriptor on its own thread, which may be killed by that.
private func closeApart(_ descriptor: Int32, of kernel: Kernel) {
    let hasStarted: Void? = try? startThread(named: "ble-close", on: kernel) { closeNow(descriptor, of: kernel) }
    // Without a thread, the descriptor stays open: better than the death of this thread.
    _ = hasStarted
}

/// The release of the running kernel: `6.12.1-amd64`. The corresponding C function is `uname`.
func kernelRelease(of kernel: Kernel = .ofThisMachine) -> String {
    if let substitute = kernel.substitute { return substitute.release }
    var names = utsname()
    guard uname(&names) == 0 else { return "" }
    return withUnsafeBytes(of: &names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// Makes a call that returns −1 and sets `errno` if it fails; a call that a signal interrupts is repeated.
@discardableResult
func systemCall<Value: SignedInteger>(_ call: () -> Value) throws(SystemError) -> Value {
    while true {
        let value = call()
        if value >= 0 { return value }
        let error = SystemError.current
        if error != .interrupted { throw error }
    }
}

extension FileDescriptor {
    /// Opens a file for reading, without waiting. The corresponding C function is `open`.
    static func openForReading(
        _ path: String,
        of kernel: Kernel = .ofThisMachine
    ) throws(SystemError) -> FileDescriptor {
        try open(path, O_RDONLY | O_NONBLOCK, of: kernel)
    }

    /// Opens a file for writing, without waiting. The corresponding C function is `open`.
    static func openForWriting(
        _ path: String,
        of kernel: Kernel = .ofThisMachine
    ) throws(SystemError) -> FileDescriptor {
        try open(path, O_WRONLY | O_NONBLOCK, of: kernel)
    }

    private static func open(
        _ path: String,
        _ flags: Int32,
        of kernel: Kernel
    ) throws(SystemError) -> FileDescriptor {
        let number = try kernel.call {
            CBluetooth_open(path, flags)
        } orOf: {
            $0.open(path, flags)
        }
        return FileDescriptor(owning: number, of: kernel)
    }

    /// Duplicates a descriptor owned elsewhere. The corresponding C function is `fcntl`.
    static func duplicate(of rawValue: Int32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try systemCall { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
    }

    /// Reads up to `count` octets; an empty array is the end. The corresponding C function is `read`.
    func read(_ count: Int) throws(SystemError) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        let taken = try kernel.call {
            Glibc.read(rawValue, &octets, count)
        } orOf: { substitute in
            octets.withUnsafeMutableBytes { substitute.read(rawValue, into: $0) }
        }
        octets.removeLast(count - taken)
        return octets
    }

    /// Makes a counter that a loop can wait for. The corresponding C function is `eventfd`.
    static func eventCounter(of kernel: Kernel) throws(SystemError) -> FileDescriptor {
        let number = try kernel.call {
            eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        } orOf: {
            $0.makeEventCounter()
        }
        return FileDescriptor(owning: number, of: kernel)
    }

    /// Adds one to an event counter, which makes it readable. The corresponding C function is `eventfd_write`.
    func signal() {
        if let substitute = kernel.substitute { substitute.signal(rawValue) } else { _ = eventfd_write(rawValue, 1) }
    }

    /// Sets an event counter back to zero. The corresponding C function is `eventfd_read`.
    func clearSignals() {
        if let substitute = kernel.substitute { return substitute.clearSignals(rawValue) }
        var count: eventfd_t = 0
        _ = eventfd_read(rawValue, &count)
    }
}

/// The text of a small file, without the line's end; `nil` if it can't be read.
func textFile(_ path: String, of kernel: Kernel = .ofThisMachine) -> String? { try? readTextFile(path, of: kernel) }

/// The same, or why it can't be read.
func readTextFile(_ path: String, of kernel: Kernel) throws(SystemError) -> String {
    let file = try FileDescriptor.openForReading(path, of: kernel)
    let octets = try file.read(4096)
    return String(decoding: octets.prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }, as: UTF8.self)
}

/// The whole text of a file that a kernel generates, or why it can't be read; `nil` if it is longer than a megabyte.
func readWholeFile(_ path: String, of kernel: Kernel) throws(SystemError) -> String? {
    let file = try FileDescriptor.openForReading(path, of: kernel)
    var octets: [UInt8] = []
    while octets.count < 1 << 20 {
        let part = try file.read(4096)
        if part.isEmpty { return String(decoding: octets, as: UTF8.self) }
        octets += part
    }
    return nil
}

/// Where a symbolic link points. The corresponding C function is `readlink`.
func destination(ofLink path: String, of kernel: Kernel = .ofThisMachine) -> String? {
    if let substitute = kernel.substitute { return substitute.destination(ofLink: path) }
    var octets = [UInt8](repeating: 0, count: 4096)
    let length = octets.withUnsafeMutableBytes { buffer in
        guard let start = buffer.bindMemory(to: CChar.self).baseAddress else { return -1 }
        return readlink(path, start, buffer.count)
    }
    return length > 0 ? String(decoding: octets.prefix(length), as: UTF8.self) : nil
}

/// Makes a folder that only this user may write into. Returns whether such a folder exists, made now or before. The
/// corresponding C functions are `mkdir` and `lstat`.
func makeOwnFolder(_ path: String, of kernel: Kernel) -> Bool {
    if let substitute = kernel.substitute { return substitute.makeOwnFolder(path) == 0 }
    _ = mkdir(path, 0o700)
    var facts = stat()
    guard lstat(path, &facts) == 0 else { return false }
    return facts.st_mode & S_IFMT == S_IFDIR && facts.st_uid == geteuid() && facts.st_mode & 0o022 == 0
}

/// Makes a symbolic link, if nothing has its name. The corresponding C function is `symlink`.
func makeLink(to text: String, at path: String, of kernel: Kernel) {
    if let substitute = kernel.substitute {
        _ = substitute.makeLink(to: text, at: path)
    } else {
        _ = symlink(text, path)
    }
}

/// Removes a name, if it exists. The corresponding C function is `unlink`.
func removeName(_ path: String, of kernel: Kernel) {
    if let substitute = kernel.substitute { _ = substitute.removeName(path) } else { unlink(path) }
}

/// The names in a folder; empty if it can't be read. The corresponding C functions are `opendir` and `readdir`.
func namesInFolder(_ path: String, of kernel: Kernel = .ofThisMachine) -> [String] {
    if let substitute = kernel.substitute { return substitute.names(inFolder: path) }
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
            tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}
