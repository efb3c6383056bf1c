import Foundation
import Glibc

/// A small file with a secret, which not everybody on the machine may read.
enum SecretFile {
    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - field: the field of the configuration that names it.
    /// - Returns: the text without spaces and line ends around it.
    /// - Throws: ``ConfigurationError``, which doesn't repeat what is in the file.
    static func text(in path: String, _ field: String) throws(ConfigurationError) -> String {
        // A pipe that nobody writes to is not waited for.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw Configuration.unreadable(path, errno, field) }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0 else { throw Configuration.unreadable(path, errno, field) }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw ConfigurationError(field: field, cause: "\(path) is not a file", remedy: "Check the path.")
        }
        if let problem = exposure(of: path, facts, field) { throw problem }
        var octets = [UInt8](repeating: 0, count: 256)
        let count = octets.withUnsafeMutableBytes { read(file, $0.baseAddress, $0.count) }
        guard count >= 0 else { throw Configuration.unreadable(path, errno, field) }
        return String(decoding: octets.prefix(count), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What to say of a file that others may read or change; `nil`: nobody but its owner and group may.
    static func exposure(of path: String, _ field: String) -> ConfigurationError? {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        return exposure(of: path, facts, field)
    }

    private static func exposure(of path: String, _ facts: stat, _ field: String) -> ConfigurationError? {
        // The group may read it: systemd passes a service its credentials so.
        guard facts.st_mode & 0o027 != 0 else { return nil }
        return ConfigurationError(
            field: field,
            cause: "\(path) may be used by everybody, or changed by others than its owner",
            remedy: "Run `chmod 600 '\(path)'`, or give the secret of a container `mode=0400`; and choose another "
                + "secret if somebody may have read this one."
        )
    }
}
