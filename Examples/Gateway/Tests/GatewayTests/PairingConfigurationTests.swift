import Foundation
import Glibc
import TestBroker
import Testing

@testable import Gateway

/// How a configuration says the way to pair, and what keeps its secret from others.
@Suite struct PairingConfigurationTests {
    private func read(_ pairing: String) throws(ConfigurationError) -> Configuration.Pairing? {
        let text = """
            { "spool": { "folder": "/x" }, "peripherals": [{ "name": "a", "pairing": \(pairing) }] }
            """
        return try Configuration(json: Array(text.utf8)).peripherals[0].pairing
    }

    private func withFile(_ text: String, mode: Int = 0o600, _ body: (String) throws -> Void) throws {
        let folder = try temporaryFolder("pairing")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/passkey"
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        #expect(chmod(path, mode_t(mode)) == 0)
        try body(path)
    }

    private func read(file path: String) throws(ConfigurationError) -> Configuration.Pairing? {
        try read(#"{ "passkeyFile": "\#(path)" }"#)
    }

    // Arguments are printed, so none is a passkey of another test: nobody is to print those.
    @Test(arguments: [("907531", 0o600), ("001234\n", 0o400), (" 001 234 \n", 0o440)])
    func `a passkey comes from a file`(_ text: String, _ mode: Int) throws {
        let passkey = try #require(UInt32(text.filter(\.isNumber)))
        try withFile(text, mode: mode) { path in
            let pairing = try read(file: path)
            #expect(pairing == .passkey(passkey))
        }
    }

    @Test func `a peripheral without a passkey is paired with by just works, if the configuration says so`() throws {
        #expect(try read(#"{ "justWorks": true }"#) == .justWorks)
        #expect(try read("null") == nil)
    }

    @Test(arguments: ["{}", #"{ "justWorks": false }"#, #"{ "justWorks": true, "passkeyFile": "/x" }"#])
    func `one way to pair is needed, and one only`(_ pairing: String) {
        let error = #expect(throws: ConfigurationError.self) { try read(pairing) }
        #expect(error?.field == "peripherals[0].pairing.passkeyFile")
        #expect(error?.remedy.contains("justWorks") == true)
    }

    @Test(arguments: [0o644, 0o604, 0o620, 0o666])
    func `a file that others may read or change is refused`(_ mode: Int) throws {
        try withFile("624813", mode: mode) { path in
            let error = #expect(throws: ConfigurationError.self) { try read(file: path) }
            #expect(error?.field == "peripherals[0].pairing.passkeyFile")
            #expect(error?.remedy.contains("chmod 600 '\(path)'") == true, "\(error?.remedy ?? "")")
        }
    }

    @Test(arguments: ["", "90753", "9075313", "90753x", String(repeating: "6", count: 1000)])
    func `what is no passkey is refused, and not repeated`(_ text: String) throws {
        try withFile(text) { path in
            let error = #expect(throws: ConfigurationError.self) { try read(file: path) }
            #expect(error?.remedy.contains("six digits") == true)
            let words = error?.description.replacing(path, with: "") ?? text
            #expect(text.isEmpty || !words.contains(text))
        }
    }

    @Test func `a file that is missing, or none, is told as such`() throws {
        let missing = #expect(throws: ConfigurationError.self) { try read(file: "/nowhere/passkey") }
        #expect(missing?.cause.contains(String(cString: strerror(ENOENT))) == true)
        let folder = #expect(throws: ConfigurationError.self) { try read(file: "/tmp") }
        #expect(folder?.cause == "/tmp is not a file")
    }

    @Test func `a configuration that is printed shows no passkey`() throws {
        try withFile("624813") { path in
            let pairing = try read(file: path)
            var text = ""
            dump(pairing, to: &text)
            #expect(!"\(pairing as Any) \(String(reflecting: pairing)) \(text)".contains("624813"))
        }
    }
}
