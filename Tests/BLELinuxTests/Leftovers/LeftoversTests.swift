import BLEProtocol
import Foundation
import Testing

@testable import BLELinux

/// What a program writes down of what it has put into the kernel, and what the next one makes of it.
@Suite struct LeftoversTests {
    /// A folder of its own for each test, and an adapter that nobody else has.
    private let path: String
    private let adapter: AdapterFacts
    /// Its claims are in memory: a child that another test starts would keep one of this machine's until it executes
    /// its program.
    private let claims = FakeKernel()

    init() {
        path = FileManager.default.temporaryDirectory.appendingPathComponent("leftovers-\(UUID())").path
        let address = BluetoothAddress(rawValue: .random(in: 1...0xFFFF_FFFF_FFFF), kind: .public)
        adapter = AdapterFacts(number: 0, address: address, flags: 0, features: [])
    }

    private func program(boot: String = "a") -> Leftovers {
        let folder = NoteFolder(path: path)
        #expect(folder.isOurs)
        return Leftovers(folder: folder, boot: boot, of: claims.kernel)
    }

    private func things(_ notes: [LeftoverNote]) -> Set<KernelThing> { Set(notes.map(\.thing)) }

    private var thing: KernelThing { KernelThing(.advertisement, 5, of: adapter) }
    private var monitor: KernelThing { KernelThing(.monitor, 1, of: adapter) }

    /// Writes both down, and is killed.
    private func noteBoth(_ program: Leftovers) {
        withExtendedLifetime([program.note(thing), program.note(monitor)]) {}
    }

    @Test func `what a program has noted that was killed is found, as long as nobody else takes it up`() {
        noteBoth(program())
        let found = program().left(on: adapter)
        #expect(things(found) == [thing, monitor])
        #expect(program().left(on: adapter).isEmpty)
        withExtendedLifetime(found) {}
    }

    @Test func `what is taken away is forgotten, and what is not is found again`() {
        noteBoth(program())
        for note in program().left(on: adapter) where note.thing == thing { note.forget() }
        #expect(things(program().left(on: adapter)) == [monitor])
    }

    @Test func `what a program that runs has noted is its own`() {
        let note = program().note(thing)
        #expect(note != nil)
        #expect(program().left(on: adapter).isEmpty)
        #expect(program().note(thing) == nil)
        withExtendedLifetime(note) {}
    }

    @Test func `what can't be claimed may be a running program's, and is found once it can be`() {
        noteBoth(program())
        claims.with { $0.fail(.socket, .keepsFailing(ENOMEM)) }
        #expect(program().left(on: adapter).isEmpty)
        #expect(Set(program().held(on: adapter)) == [thing, monitor])
        claims.with { $0.fault = nil }
        #expect(program().held(on: adapter).isEmpty)
        #expect(things(program().left(on: adapter)) == [thing, monitor])
    }

    @Test func `another adapter's are left alone`() {
        noteBoth(program())
        var other = adapter
        other.address = BluetoothAddress(rawValue: adapter.address.rawValue ^ 1, kind: .public)
        #expect(program().left(on: other).isEmpty)
        #expect(things(program().left(on: adapter)) == [thing, monitor])
    }

    @Test func `what was noted before the machine was started again means nothing`() {
        noteBoth(program(boot: "a"))
        #expect(program(boot: "b").left(on: adapter).isEmpty)
        #expect(program(boot: "a").left(on: adapter).isEmpty)
    }

    @Test func `without a place for notes nothing is remembered, and numbers are kept apart all the same`() {
        let program = Leftovers(folder: nil, boot: "a", of: claims.kernel)
        let note = program.note(thing)
        #expect(note != nil)
        #expect(program.note(thing) == nil)
        withExtendedLifetime(note) { #expect(program.left(on: adapter).isEmpty) }
    }

    @Test func `a folder in which others write, and a link to one, are no place for notes`() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(chmod(path, 0o777) == 0)
        #expect(!NoteFolder(path: path).isOurs)
        #expect(chmod(path, 0o755) == 0)
        #expect(NoteFolder(path: path).isOurs)
        #expect(symlink(path, path + "-link") == 0)
        #expect(!NoteFolder(path: path + "-link").isOurs)
    }

    @Test(arguments: ["", "advertisement", "advertisement-x", "advertisement-x-70000", "monitor-a-b-1", "lock-a-1"])
    func `what is no note is passed over`(_ name: String) {
        #expect(KernelThing(noteName: name) == nil)
    }

    @Test func `a note is named for its adapter, or for the number of one without an address`() {
        #expect(KernelThing(noteName: thing.noteName) == thing)
        var nameless = adapter
        nameless.address = BluetoothAddress(rawValue: 0, kind: .public)
        #expect(KernelThing(.monitor, 3, of: nameless).noteName == "monitor-hci0-3")
    }
}
