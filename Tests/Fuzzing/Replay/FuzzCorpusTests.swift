import Foundation
import Testing

/// The inputs that the fuzzer has kept, each through the entry point that it was found with.
@Suite struct FuzzCorpusTests {
    static let corpora = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Corpora")

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `each input that was kept, and each seed, is taken without a finding`(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let folder = Self.corpora.appending(path: name)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(files.count >= 10, "a corpus that shows little of what the target can do")
        for file in files.sorted(by: { $0.path < $1.path }) {
            let octets = try [UInt8](Data(contentsOf: file))
            #expect(octets.count <= target.longest, "\(file.lastPathComponent)")
            #expect(throws: Never.self, "\(file.lastPathComponent)") { try target.run(octets) }
        }
        for (number, seed) in target.seeds().enumerated() {
            #expect(throws: Never.self, "seed \(number)") { try target.run(seed) }
        }
    }

    @Test func `each corpus belongs to a target`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpora.path)
        #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
    }

    @Test func `no input is large, and a corpus is a few dozen files`() throws {
        for target in FuzzTarget.all {
            let folder = Self.corpora.appending(path: target.name).path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count <= 100, "\(target.name)")
        }
    }
}
