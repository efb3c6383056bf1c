import BLEProtocol
import BLERadio
import Foundation
import RadioDoubles
import Testing
import TracedChild

@testable import BLEStreams

/// `StoreWriter`, which changes the store in a folder and may be killed, or have system calls fail, meanwhile.
struct StoreChild {
    /// What came of it.
    struct End {
        /// It has ended by itself.
        var hasEnded: Bool { signal == 0 }
        /// Its exit status.
        var status: Int32
        /// What ended it, or 0.
        var signal: Int32
        /// The system calls from the moment on when it began to change the store; those for files are counted alone.
        var calls: Int
        /// The number of the system call that was made to fail.
        var failedCall: Int?
        /// What it said.
        var errors: String
    }

    static let peer = BluetoothAddress(rawValue: 0xC4F2_171A_1DBB, kind: .random)
    static let other = BluetoothAddress(rawValue: 0xC4F2_171A_1DBC, kind: .random)

    /// The folder of the store, which isn't there yet.
    let folder: String

    /// What is in the way of the new file of a store.
    private var obstacle: String { "\(folder)/.new" }

    /// Lets no store write a file from now on, as a full disk. The folder must be there.
    func fillDisk() throws {
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
    }

    /// Lets stores write again.
    func freeDisk() throws { try FileManager.default.removeItem(atPath: obstacle) }

    /// Keeps a bond that is made of this number; `nil`: removes it.
    func run(
        _ number: UInt8?,
        killedBefore: Int = 0,
        failing: Int = 0,
        with error: Int32 = 0,
        largestFile: Int = -1
    ) throws -> End {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "StoreWriter").path
        let words = [program, folder, Self.peer.descriptionWithKind] + (number.map { ["\($0)"] } ?? [])
        let said = Pipe()
        // The worst one for whoever keeps secrets.
        let plan = traced_child_plan(
            killed_before: Int32(killedBefore),
            failing: Int32(failing),
            error: error,
            largest_file: largestFile,
            mask: 0,
            errors: said.fileHandleForWriting.fileDescriptor
        )
        var strings: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for string in strings { free(string) } }
        let end = traced_child_run(&strings, plan)
        try #require(end.failure == 0, "the child can't be followed: \(String(cString: strerror(end.failure)))")
        // It says less than a pipe holds.
        try said.fileHandleForWriting.close()
        let errors = said.fileHandleForReading.readDataToEndOfFile()
        return End(
            status: end.status >> 8 & 0xFF,
            signal: end.status & 0x7F,
            calls: Int(end.calls),
            failedCall: end.failed_call < 0 ? nil : Int(end.failed_call),
            errors: String(decoding: errors, as: UTF8.self)
        )
    }

    /// The number that the bond with a peer is made of, as the next program finds it; `nil` where there is none.
    func number(of peer: BluetoothAddress = peer) throws -> UInt8? {
        let warnings = Recorder<BLEError>()
        let store = PeerStore(folder: folder) { warnings.add($0) }
        let bonds = store.bonds(with: peer)
        #expect(warnings.all.isEmpty && bonds.count < 2)
        let number = bonds.first?.identityKey?.octets.last
        #expect(bonds.first == number.map { .planted($0, with: peer) })
        return number
    }

    /// Keeps bonds in this process.
    func remember(_ bonds: Bond...) async {
        let warnings = Recorder<BLEError>()
        let store = PeerStore(folder: folder) { warnings.add($0) }
        for bond in bonds { store.remember(bond) }
        await store.flush()
        #expect(warnings.all.isEmpty)
    }

    /// Whatever there is, nobody else may read it, nor write into it.
    func expectSecrecy(_ note: Comment) throws {
        var status = stat()
        guard stat(folder, &status) == 0 else { return }
        #expect(status.st_mode & 0o7777 == 0o700, note)
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            #expect(stat("\(folder)/\(name)", &status) == 0 && status.st_mode & 0o7777 == 0o600, note)
        }
    }

    /// Nothing lies there but the files of these peers.
    func expectNoLitter(_ peers: BluetoothAddress..., note: Comment) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".lock") }
        let wanted = peers.map { "\($0)".replacing(":", with: "-") + "-random.json" }
        #expect(names.sorted() == wanted.sorted(), note)
    }

    /// Whether this system lets a process follow its own child: some containers don't.
    static let canFollow: Bool = {
        var words: [UnsafeMutablePointer<CChar>?] = [strdup("/bin/true"), nil]
        defer { free(words[0]) }
        let plan = traced_child_plan(
            killed_before: 0,
            failing: 0,
            error: 0,
            largest_file: -1,
            mask: 0o22,
            errors: -1
        )
        return traced_child_run(&words, plan).failure == 0
    }()

    /// Runs a body with a folder of its own, of which not even the one above is there.
    static func with(_ body: (StoreChild) async throws -> Void) async throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID())")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        try await body(StoreChild(folder: parent.appending(path: "state/blestreams").path()))
    }
}
