import Foundation
import Glibc
import TestBroker
import Testing

@testable import Gateway

/// The file with the password for the broker.
@Suite struct PasswordFileTests {
    private func configuration(_ path: String) throws(ConfigurationError) -> Configuration {
        let broker = #"{ "user": "u", "passwordFile": "\#(path)" }"#
        let text = #"{ "spool": { "folder": "/x" }, "broker": \#(broker) }"#
        return try Configuration(json: Array(text.utf8))
    }

    private func read(_ path: String) throws(ConfigurationError) -> String? { try configuration(path).broker.password }

    @Test func `its text is the password, without line ends, and nothing is none`() throws {
        let folder = try temporaryFolder("password")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/password"
        try Data(" two words \r\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try read(path) == " two words ")
        for (content, cause) in [(Data(), "is empty"), (Data("\n".utf8), "is empty"), (Data([0xFF]), "is not text")] {
            try content.write(to: URL(fileURLWithPath: path))
            let error = try #require(throws: ConfigurationError.self) { try read(path) }
            #expect(error.field == "broker.passwordFile" && error.cause.hasPrefix("\(path) \(cause)"), "\(error)")
        }
    }

    @Test(arguments: ["", "\n", "\r\n"])
    func `a line end doesn't count for the longest password`(_ end: String) throws {
        let folder = try temporaryFolder("password")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/password"
        let longest = String(repeating: "a", count: 65_535)
        try Data((longest + end).utf8).write(to: URL(fileURLWithPath: path))
        let password = try read(path)
        #expect(password == longest)
        for more in ["a", "aaa"] {
            try Data((longest + more + end).utf8).write(to: URL(fileURLWithPath: path))
            let error = try #require(throws: ConfigurationError.self) { try read(path) }
            #expect(error.cause == "\(path) has more than 65535 octets")
        }
    }

    @Test(arguments: [0o600, 0o400, 0o440])
    func `one that nobody else may read gives no cause for a warning`(_ mode: Int) throws {
        try withFile(mode: mode) { path in
            let all = try configuration(path)
            #expect(all.broker.password == "secret" && all.cautions.isEmpty)
        }
    }

    @Test(arguments: [0o644, 0o444, 0o604, 0o620, 0o666])
    func `one that others may read or change is warned of, and used`(_ mode: Int) throws {
        try withFile(mode: mode) { path in
            let all = try configuration(path)
            #expect(all.broker.password == "secret" && all.cautions.count == 1)
            let caution = try #require(all.cautions.first)
            #expect(caution.field == "broker.passwordFile" && caution.remedy.contains("chmod 600 '\(path)'"))
        }
    }

    private func withFile(mode: Int, _ body: (String) throws -> Void) throws {
        let folder = try temporaryFolder("password")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/password"
        try Data("secret\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(chmod(path, mode_t(mode)) == 0)
        try body(path)
    }

    @Test func `what keeps it from being read is told`() throws {
        let folder = try temporaryFolder("password")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (path, cause) in [("\(folder)/none", "No such file or directory"), (folder, "Is a directory")] {
            let error = try #require(throws: ConfigurationError.self) { try read(path) }
            #expect(error.cause == "\(path) can't be read: \(cause)")
        }
    }
}
