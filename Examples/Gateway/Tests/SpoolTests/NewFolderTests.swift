import Foundation
import Synchronization
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

    /// What fails at an opening.
    enum Failure: CaseIterable {
        case secondPlace, listing, lastWrite, synchronising

        /// Which write fails: the position is written to both places of two files, then with the number of the opening.
        var write: Int {
            switch self {
            case .secondPlace: 2
            case .lastWrite: 5
            case .listing, .synchronising: 0
            }
        }
    }

    /// How often something was written.
    private final class Writes: Sendable {
        let count = Mutex(0)
    }

    @Test(arguments: Failure.allCases)
    func `a spool whose first opening failed is new at the next one`(_ failure: Failure) throws {
        let folder = try SpoolFolder()
        let writes = Writes()
        var disk = Disk()
        disk.synchronise = { _ in
            errno = EIO
            return failure == .synchronising ? -1 : 0
        }
        disk.nextEntry = { entries in
            guard failure == .listing else { return readdir(entries) }
            errno = EIO
            return nil
        }
        disk.write = { file, octets, offset in
            let number = writes.count.withLock { count in
                count += 1
                return count
            }
            guard number != failure.write else {
                errno = EIO
                return -1
            }
            return pwrite(file, octets.baseAddress, octets.count, off_t(offset))
        }
        let faulty = disk
        #expect(throws: SpoolError.self) { _ = try Spool(folder.settings(), faulty) }
        for isNew in [true, false] {
            let spool = try folder.spool()
            #expect(spool.isNew == isNew)
            try spool.close()
        }
    }

    /// Paths that were synchronised.
    private final class Synchronised: Sendable {
        let paths = Mutex<Set<String>>([])
    }

    @Test(arguments: ["", "/", "//"])
    func `a new folder is synchronised with its parent, as its records are with it`(_ end: String) throws {
        let folder = try SpoolFolder()
        let synchronised = Synchronised()
        var disk = Disk()
        disk.synchronise = { file in
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(file)")
            if let path { synchronised.paths.withLock { _ = $0.insert((path as NSString).lastPathComponent) } }
            return 0
        }
        let settings = SpoolSettings(folder: "\(folder.path)/new\(end)")
        let name = (folder.path as NSString).lastPathComponent
        do {
            let spool = try Spool(settings, disk)
            #expect(synchronised.paths.withLock { $0.contains(name) })
            try spool.append([1])
            try spool.close()
        }
        #expect(synchronised.paths.withLock { $0.contains("new") })
        // It is there now, and no start wears the disk for it.
        synchronised.paths.withLock { $0 = [] }
        try Spool(settings, disk).close()
        #expect(synchronised.paths.withLock { !$0.contains(name) })
    }
}
