import Foundation
import TestBroker
import Testing

@testable import Gateway

/// The file with the password for the broker.
@Suite struct PasswordFileTests {
    private func read(_ path: String) throws(ConfigurationError) -> String? {
        let broker = #"{ "user": "u", "passwordFile": "\#(path)" }"#
        let text = #"{ "spool": { "folder": "/x" }, "broker": \#(broker) }"#
        return try Configuration(json: Array(text.utf8)).broker.password
    }

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

    @Test func `what keeps it from being read is told`() throws {
        let folder = try temporaryFolder("password")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for (path, cause) in [("\(folder)/none", "No such file or directory"), (folder, "Is a directory")] {
            let error = try #require(throws: ConfigurationError.self) { try read(path) }
            #expect(error.cause == "\(path) can't be read: \(cause)")
        }
    }
}
