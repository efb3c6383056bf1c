import BLEProtocol
import Foundation
import Testing

@testable import BLELinux

/// What is remembered of the key with which an adapter was made private.
@Suite struct PrivacyNoteTests {
    private let folder = NoteFolder(
        path: FileManager.default.temporaryDirectory.appendingPathComponent("privacy-\(UUID())").path
    )

    private func note(boot: String = "a", adapter: UInt64 = 1) -> PrivacyNote {
        #expect(folder.isOurs)
        let address = BluetoothAddress(rawValue: adapter, kind: .public)
        let facts = AdapterFacts(number: 0, address: address, flags: 0, features: [])
        return PrivacyNote(of: facts, folder: folder, boot: boot)
    }

    private func key(_ octet: UInt8) throws -> SecretKey {
        try #require(SecretKey(octets: [UInt8](repeating: octet, count: 16)))
    }

    @Test func `it tells of that key, on that adapter, until the machine is started again`() throws {
        let (key, other) = (try key(1), try key(2))
        #expect(!note().tells(of: key))
        note().write(key)
        #expect(note().tells(of: key) && !note().tells(of: other) && !note().tells(of: nil))
        #expect(!note(boot: "b").tells(of: key) && !note(adapter: 2).tells(of: key))
        note().write(nil)
        #expect(!note().tells(of: key))
    }

    @Test func `nobody reads the key in it, and nobody takes it for something that was left behind`() throws {
        note().write(try key(0xAB))
        let texts = folder.names.compactMap { folder.read($0) }
        #expect(texts.count == 1 && !texts[0].lowercased().contains("abab"))
        #expect(folder.names.compactMap { KernelThing(noteName: $0) }.isEmpty)
    }
}
