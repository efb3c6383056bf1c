import Foundation
import Testing

@testable import BLELinux

/// An adapter that is plugged in, and what a program notes of it. No other test has it.
struct PluggedAdapter {
    let adapter: LinuxAdapter
    let facts: AdapterFacts
    private let notes: NoteFolder
    /// Its claims are in memory: a child that another test starts would keep one of this machine's until it executes
    /// its program.
    private let claims = FakeKernel()

    init() throws {
        let table = TableDouble()
        table.plug(7, .random(in: 1...0xFFFF_FFFF_FFFF))
        adapter = try LinuxAdapter("hci7", socket: nil, refusal: nil, table: table)
        facts = try #require(adapter.facts)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("plugged-\(UUID())").path
        notes = NoteFolder(path: folder)
        #expect(notes.isOurs)
    }

    /// What a program remembers, which may have ended since.
    var leftovers: Leftovers { Leftovers(folder: notes, boot: "a", of: claims.kernel) }
}
