import Foundation
import Leases
import TestBroker
import Testing

@testable import Gateway

/// A file that is there and can't be used: the numbers in it must not begin anew, and a person should hear why.
@Suite struct UnreadableFileTests {
    /// A file whose name leads to itself can be opened by nobody, not even by root.
    private func makeLoop(_ path: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
    }

    /// What is at a path, without following links; a symbolic link counts.
    private func isLink(_ path: String) -> Bool {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == path
    }

    private func inFolder(_ body: (String) throws -> Void) throws {
        let folder = try temporaryFolder("unreadable")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body("\(folder)/spool")
    }

    @Test func `a small file that is missing is told from one that can't be read`() throws {
        try inFolder { path in
            #expect(try DurableFile.read(path, limit: 8) == nil)
            try DurableFile.write(Array("0123456789".utf8), to: path)
            #expect(try DurableFile.read(path, limit: 8) == Array("01234567".utf8))
            #expect(try DurableFile.read(path, limit: 10_000) == Array("0123456789".utf8))
            let below = #expect(throws: DurableFile.ReadError.self) { try DurableFile.read("\(path)/a", limit: 8) }
            #expect(below?.number == ENOTDIR)
            let parent = (path as NSString).deletingLastPathComponent
            let folder = #expect(throws: DurableFile.ReadError.self) { try DurableFile.read(parent, limit: 8) }
            #expect(folder?.number == EISDIR)
        }
    }

    @Test func `a gateway whose file of leases can't be read draws no identifier, and leaves the file`() throws {
        try inFolder { spool in
            let path = "\(spool).leases"
            try makeLoop(path)
            for configured in [nil, GatewayID(rawValue: 7)] {
                let error = #expect(throws: EpochStore.StoreError.self) {
                    try EpochStore(beside: spool, configured: configured)
                }
                let text = error?.description ?? ""
                #expect(text.contains(path) && text.contains(String(cString: strerror(ELOOP))), "\(text)")
                #expect(text.contains("Check the disk"), "\(text)")
                #expect(isLink(path))
            }
        }
    }

    @Test func `a damaged file of leases under a configured identifier asks for another identifier`() throws {
        try inFolder { spool in
            try DurableFile.write([], to: "\(spool).leases")
            let error = #expect(throws: EpochStore.StoreError.self) {
                try EpochStore(beside: spool, configured: GatewayID(rawValue: 7))
            }
            #expect(error?.description.contains("write another identifier") == true)
        }
    }

    @Test func `the numbers of certificates go on, and begin at 0 only without a file`() throws {
        try inFolder { spool in
            #expect(try BirthNumber(beside: spool).next == 0)
            try BirthNumber(beside: spool).store(41)
            #expect(try BirthNumber(beside: spool).next == 42)
            try DurableFile.write(Array("255\n".utf8), to: "\(spool).sparkplug.bdSeq")
            #expect(try BirthNumber(beside: spool).next == 0)
        }
    }

    @Test func `the numbers of certificates don't begin anew when their file can't be read`() throws {
        try inFolder { spool in
            let path = "\(spool).sparkplug.bdSeq"
            try makeLoop(path)
            let error = #expect(throws: BirthNumber.NumberError.self) { try BirthNumber(beside: spool) }
            let text = error?.description ?? ""
            #expect(text.contains(path) && text.contains(String(cString: strerror(ELOOP))), "\(text)")
            #expect(isLink(path))
        }
    }

    @Test func `an image that is there and can't be read is not to be copied there, but to be looked after`() throws {
        try inFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let hash = String(repeating: "0", count: 64)
            let missing = #expect(throws: ImageFolder.ImageError.self) { try ImageFolder(folder: folder).image(hash) }
            #expect(missing?.cause.contains(String(cString: strerror(ENOENT))) == true)
            #expect(missing?.remedy == "Copy the image there.")
            try makeLoop("\(folder)/\(hash).bin")
            let error = #expect(throws: ImageFolder.ImageError.self) { try ImageFolder(folder: folder).image(hash) }
            #expect(error?.cause.contains(String(cString: strerror(ELOOP))) == true)
            #expect(error?.remedy.contains("Check the disk") == true)
        }
    }

    @Test func `a configuration that can't be read says why`() throws {
        try inFolder { path in
            let missing = #expect(throws: ConfigurationError.self) { try Configuration(file: path) }
            #expect(missing?.cause.contains(String(cString: strerror(ENOENT))) == true)
            try makeLoop(path)
            let error = #expect(throws: ConfigurationError.self) { try Configuration(file: path) }
            #expect(error?.cause.contains(path) == true)
            #expect(error?.cause.contains(String(cString: strerror(ELOOP))) == true)
        }
    }

    @Test(arguments: ["", "x", "256", "-1", "1 2", "123456789"])
    func `the numbers of certificates don't begin anew when their file is damaged`(_ content: String) throws {
        try inFolder { spool in
            let path = "\(spool).sparkplug.bdSeq"
            try DurableFile.write(Array(content.utf8), to: path)
            let error = #expect(throws: BirthNumber.NumberError.self) { try BirthNumber(beside: spool) }
            let text = error?.description ?? ""
            #expect(text.contains(path) && text.contains("NBIRTH"), "\(text)")
        }
    }
}
