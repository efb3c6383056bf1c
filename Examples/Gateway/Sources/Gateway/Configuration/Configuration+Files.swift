import Foundation
import Glibc

extension Configuration {
    /// Checks that the files and folders that the configuration names are there, and can be read.
    ///
    /// Whether it is needed is another question: a file may appear later, and the gateway tries again until then. Who
    /// checks a configuration, or replaces one that works, should hear of it at once.
    ///
    /// - Throws: ``ConfigurationError`` for the first that can't be read; it names the field and the path.
    public func checkFiles() throws(ConfigurationError) {
        try Self.checkFile(broker.authorities, "broker.tls.authorities")
        try Self.checkFile(broker.certificate, "broker.tls.certificate")
        try Self.checkFile(broker.key, "broker.tls.key")
        try Self.checkFolder(images, "images")
        try Self.checkFolder(campaigns?.images, "campaigns.images")
    }

    private static func checkFile(_ path: String?, _ field: String) throws(ConfigurationError) {
        guard let path else { return }
        let error = access(path, R_OK) == 0 ? (isFolder(path) ? EISDIR : 0) : errno
        if error != 0 { throw unusable(path, field, error, "that it is a file which this program may read") }
    }

    /// A folder whose files can be opened by their names, and listed.
    private static func checkFolder(_ path: String?, _ field: String) throws(ConfigurationError) {
        guard let path else { return }
        var error = access(path, F_OK) == 0 ? 0 : errno
        if error == 0 { error = isFolder(path) ? (access(path, R_OK | X_OK) == 0 ? 0 : errno) : ENOTDIR }
        if error != 0 { throw unusable(path, field, error, "that it is a folder which this program may read") }
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }

    private static func unusable(
        _ path: String,
        _ field: String,
        _ error: Int32,
        _ requirement: String
    ) -> ConfigurationError {
        ConfigurationError(
            field: field,
            cause: "\(path) can't be read: \(String(cString: strerror(error)))",
            remedy: "Check the path, and \(requirement)."
        )
    }
}
