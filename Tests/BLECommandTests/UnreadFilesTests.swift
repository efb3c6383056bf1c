import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import ble

/// What a command says of files of the store that could not be read: in a shell, long after that.
@Suite(.timeLimit(.minutes(10))) struct UnreadFilesTests {
    /// A store whose folder others may write to, which it therefore refuses; and what has come of reading its bonds.
    private func withRefusedStore(_ body: (_ unread: UnreadFiles, _ path: String) async throws -> Void) async throws {
        try await withFolder { folder in
            let path = folder.path
            try #require(chmod(path, 0o777) == 0)
            let unread = UnreadFiles(reopen: { PeerStore(folder: path, warning: $0) })
            let store = PeerStore(folder: path) { unread.note($0) }
            try await Central.with(.radio(SimulatedAir().adapter()), store: store) { _ = $0.bonds }
            try await body(unread, path)
        }
    }

    @Test func `a problem that lasts is named each time`() async throws {
        try await withRefusedStore { unread, path in
            for _ in 1...2 {
                let error = await #expect(throws: BLEError.self) { try await unread.check(for: "list bonds") }
                #expect(error?.cause == "not all bonds could be read: \(path): other users may write to it")
            }
        }
    }

    @Test func `a problem that has been mended is named no more, and one that comes back is`() async throws {
        try await withRefusedStore { unread, path in
            try #require(chmod(path, 0o700) == 0)
            try await unread.check(for: "list bonds")
            try #require(chmod(path, 0o777) == 0)
            await #expect(throws: BLEError.self) { try await unread.check(for: "list bonds") }
        }
    }

    @Test func `another problem in place of a mended one is named instead`() async throws {
        try await withRefusedStore { unread, path in
            try #require(chmod(path, 0o700) == 0)
            let file = "\(path)/C4-F2-17-1A-1D-BB-random.json"
            try Data().write(to: URL(filePath: file))
            try #require(chmod(file, 0o660) == 0)
            let error = await #expect(throws: BLEError.self) { try await unread.check(for: "list bonds") }
            #expect(error?.cause == "not all bonds could be read: \(file): other users may write to it")
        }
    }
}
