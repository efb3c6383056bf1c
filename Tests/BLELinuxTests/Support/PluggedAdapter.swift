import Foundation
import Testing

@testable import BLELinux

/// An adapter that is plugged in, and what a program of this machine notes of it. No other test has it: claims are of
/// the whole machine.
struct PluggedAdapter {
    let adapter: LinuxAdapter
    let facts: AdapterFacts
    private let notes: NoteFolder

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
    var leftovers: Leftovers { Leftovers(folder: notes, boot: "a") }
}
