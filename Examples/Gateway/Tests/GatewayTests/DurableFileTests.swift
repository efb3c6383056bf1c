import Foundation
import TestBroker
import Testing

@testable import Gateway

@Suite("A file that is replaced as a whole")
struct DurableFileTests {
    @Test("says that the disk is full, keeps the old content, and leaves nothing half-written")
    func full() throws {
        let folder = try temporaryFolder("file")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try DurableFile.write(Array("old".utf8), to: "\(folder)/a")
        try FileManager.default.createSymbolicLink(atPath: "\(folder)/a.new", withDestinationPath: "/dev/full")
        let error = #expect(throws: DurableFile.WriteError.self) {
            try DurableFile.write(Array("new".utf8), to: "\(folder)/a")
        }
        #expect(error?.number == ENOSPC && error?.description.hasSuffix("Make room on that disk.") == true)
        #expect(try String(contentsOfFile: "\(folder)/a", encoding: .utf8) == "old")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a"])
    }

    @Test func `a folder that isn't there is no matter of permissions`() throws {
        let error = #expect(throws: DurableFile.WriteError.self) {
            try DurableFile.write(Array("new".utf8), to: "/no/such/folder/a")
        }
        #expect(error?.number == ENOENT && error?.description.hasSuffix("Check that the folder exists.") == true)
    }

    @Test(arguments: [(EROFS, "ReadWritePaths="), (EMFILE, "LimitNOFILE="), (EACCES, "may write"), (EIO, "the disk")])
    func `what to do fits the error`(_ number: Int32, _ words: String) {
        let error = DurableFile.WriteError(path: "/a", number: number)
        #expect(error.description.contains(words), "\(error)")
    }

    @Test func `a path without a folder part is a file of the current folder`() throws {
        let name = "durable-\(UUID().uuidString).json"
        defer { try? FileManager.default.removeItem(atPath: name) }
        try DurableFile.write(Array("new".utf8), to: name)
        #expect(try String(contentsOfFile: name, encoding: .utf8) == "new")
    }
}
