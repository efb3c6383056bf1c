import Foundation
import Testing

@testable import Spool

/// A folder that was never used, and one that is not to be found.
@Suite struct NewFolderTests {
    @Test func `a spool is new as long as nothing was found of an earlier opening`() throws {
        let folder = try SpoolFolder()
        do {
            let spool = try folder.spool()
            #expect(spool.isNew)
            try spool.append([1])
            #expect(try spool.drain().count == 1)
            try spool.close()
        }
        for _ in 1...2 {
            let spool = try folder.spool()
            #expect(!spool.isNew)
            try spool.close()
        }
        #expect(folder.segments.isEmpty)
        truncate("\(folder.path)/position", 0)
        let spool = try folder.spool()
        #expect(!spool.isNew)
    }

    @Test func `a folder whose parent is missing is not made, and the disk is to be mounted`() throws {
        let folder = try SpoolFolder()
        let path = "\(folder.path)/disk/spool"
        let error = #expect(throws: SpoolError.self) { _ = try Spool(SpoolSettings(folder: path)) }
        #expect(error?.object == path && error?.remedy.contains("mount the disk") == true)
        #expect(!FileManager.default.fileExists(atPath: "\(folder.path)/disk"))
    }
}
