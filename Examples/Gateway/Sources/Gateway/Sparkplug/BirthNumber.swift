import Foundation

/// The number of an edge node's next certificates, which survives a restart: a death certificate of an earlier
/// connection then never ends a later one. Source: Sparkplug 3.0, 6.4.19 (bdSeq).
struct BirthNumber: Sendable {
    /// The number of the first connection of this start.
    let next: UInt8
    private let path: String

    /// Reads the file; without one, or with a damaged one, the numbers begin at 0.
    ///
    /// - Parameter spool: the folder of the gateway's spool.
    init(beside spool: String) {
        path = spool + ".sparkplug.bdSeq"
        let text = FileManager.default.contents(atPath: path).map { String(decoding: $0.prefix(8), as: UTF8.self) }
        next = text.flatMap { UInt8($0) }.map { $0 &+ 1 } ?? 0
    }

    /// Stores the number that is used now.
    func store(_ number: UInt8) throws { try DurableFile.write(Array("\(number)".utf8), to: path) }
}
