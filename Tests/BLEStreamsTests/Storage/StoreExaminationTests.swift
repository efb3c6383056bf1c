import BLEProtocol
import Foundation
import Testing

@testable import BLEStreams

/// A store is examined without being touched: whether its files could be read and written.
@Suite struct StoreExaminationTests {
    private let file = "C4-F2-17-1A-1D-BB-random.json"

    /// Runs a body with the path of a folder that isn't there yet.
    private func withPath(_ body: (String) async throws -> Void) async throws {
        let parent = FileManager.default.temporaryDirectory.appending(path: "examined-\(UUID())")
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: parent) }
        try await body(parent.appending(path: "state").path())
    }

    @Test func `a folder that could be made is no obstacle, and is not made`() async throws {
        try await withPath { path in
            #expect(await PeerStore(folder: path + "/deeper").examine() == nil)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        #expect(await PeerStore.inMemory().examine() == nil)
    }

    @Test func `a folder that can't be made is named`() async throws {
        let error = try #require(await PeerStore(folder: "/dev/null/state").examine())
        #expect(error.object == "/dev/null/state" && !error.remedy.isEmpty)
    }

    @Test func `a folder into which others may write is named, with the command that mends it`() async throws {
        try await withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o777)
            let error = try #require(await PeerStore(folder: path).examine())
            #expect(error.remedy.hasPrefix("Run `chmod 700 '\(path)'`"))
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root gives a file away"))
    func `a folder or a file of another user is named, and stays as it is`() async throws {
        try await withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o700)
            let full = "\(path)/\(file)"
            try Data("{}".utf8).write(to: URL(filePath: full))
            chmod(full, 0o644)
            #expect(await PeerStore(folder: path).examine() == nil)
            #expect(try FileManager.default.attributesOfItem(atPath: full)[.posixPermissions] as? Int == 0o644)
            try #require(chown(full, 12_345, 12_345) == 0)
            let error = try #require(await PeerStore(folder: path).examine())
            #expect(error.object == full && error.cause.contains("user 12345"))
            try #require(chown(path, 12_345, 12_345) == 0)
            #expect(try #require(await PeerStore(folder: path).examine()).object == path)
        }
    }

    @Test func `a file that is a link is named`() async throws {
        try await withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o700)
            try #require(symlink("/etc/hostname", "\(path)/\(file)") == 0)
            let error = try #require(await PeerStore(folder: path).examine())
            #expect(error.object == "\(path)/\(file)" && error.cause == "it is a symbolic link")
        }
    }

    @Test func `a program that keeps the files locked is named, and a lock that nobody holds is left alone`()
        async throws
    {
        try await withPath { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            chmod(path, 0o700)
            #expect(await PeerStore(folder: path).examine() == nil)
            #expect(!FileManager.default.fileExists(atPath: "\(path)/.lock"))
            let lock = open("\(path)/.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            #expect(await PeerStore(folder: path).examine() == nil)
            try #require(flock(lock, LOCK_EX) == 0)
            let error = try #require(await PeerStore(folder: path).examine())
            #expect(error.object == "\(path)/.lock" && error.cause.contains("process \(getpid())"))
            close(lock)
            #expect(await PeerStore(folder: path).examine() == nil)
        }
    }

    @Test(arguments: [true, false])
    func `a lock that can't be opened is named, since no file can be changed without it`(isLink: Bool) async throws {
        try await withPath { path in
            // As good as one of another user.
            if isLink {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                try #require(symlink("/etc/hostname", "\(path)/.lock") == 0)
            } else {
                try FileManager.default.createDirectory(atPath: "\(path)/.lock", withIntermediateDirectories: true)
            }
            chmod(path, 0o700)
            let error = try #require(await PeerStore(folder: path).examine())
            #expect(error.operation == "lock" && error.object == "\(path)/.lock" && !error.remedy.isEmpty)
            #expect(error.systemError == (isLink ? ELOOP : EISDIR))
        }
    }
}
