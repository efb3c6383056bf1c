import Foundation
import Testing

@testable import Spool

@Suite("A spool of a newer version")
struct NewerVersionTests {
    /// Changes octets of a file.
    private func change(_ file: String, _ change: (inout [UInt8]) -> Void) throws {
        var octets = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
        change(&octets)
        try Data(octets).write(to: URL(fileURLWithPath: file))
    }

    private func content(_ folder: SpoolFolder) throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\($0)")))
            }
        )
    }

    private func filled() throws -> SpoolFolder {
        let folder = try SpoolFolder()
        let spool = try folder.spool()
        for number in 0..<10 { try spool.append([UInt8(number)]) }
        try spool.close()
        return folder
    }

    @Test("is refused with what to do, and left as it is", arguments: ["position", "segment"])
    func refused(_ kind: String) throws {
        let folder = try filled()
        let file = kind == "position" ? "\(folder.path)/position" : try #require(folder.segments.first)
        // The last digit of the format's name: BLEPS02 or BLESEG01. What is behind it has another form.
        try change(file) { octets in
            let places = kind == "position" ? [0, 4096] : [0]
            for place in places where octets[place + 6] == UInt8(ascii: "0") {
                octets[place + 7] += 1
                octets[place + 12] ^= 0xFF
            }
        }
        let before = try content(folder)
        let error = #expect(throws: SpoolError.self) { try folder.spool() }
        #expect(error?.description.contains("newer") == true)
        #expect(try content(folder) == before)
    }

    @Test("is not what a flipped bit makes of one of this version")
    func flipped() throws {
        let folder = try filled()
        try change(try #require(folder.segments.first)) { $0[7] ^= 2 }
        let spool = try folder.spool()
        #expect(try spool.next() == nil)
        #expect(spool.counts.dropped == 10 && spool.counts.addUp)
    }
}
