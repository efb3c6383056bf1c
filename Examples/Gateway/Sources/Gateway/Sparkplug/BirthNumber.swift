import Foundation

/// The number of an edge node's next certificates, which survives a restart: a death certificate of an earlier
/// connection then never ends a later one. Source: Sparkplug 3.0, 6.4.19 (bdSeq).
struct BirthNumber: Sendable {
    /// A file that can't be used, and why.
    struct NumberError: Error, CustomStringConvertible {
        var description: String
    }

    /// The number of the first connection of this start.
    let next: UInt8
    private let path: String

    /// Reads the file; without one, the numbers begin at 0. One that can't be read, or is damaged, is an error: numbers
    /// that go back let the death certificate of an earlier connection end a later one.
    ///
    /// - Parameter spool: the folder of the gateway's spool.
    init(beside spool: String) throws(NumberError) {
        path = spool + ".sparkplug.bdSeq"
        let content: [UInt8]?
        do {
            content = try DurableFile.read(path, limit: 8)
        } catch {
            throw NumberError(description: "sparkplug: \(error)")
        }
        guard let octets = content else {
            next = 0
            return
        }
        // An editor adds a line end.
        let text = String(decoding: octets, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let last = UInt8(text) else {
            throw NumberError(
                description: """
                    sparkplug: \(path) is damaged. Write the `bdSeq` of the node's last NBIRTH into the file, a number \
                    from 0 to 255; or delete the file, if no host knows the node any more.
                    """
            )
        }
        next = last &+ 1
    }

    /// Stores the number that is used now.
    func store(_ number: UInt8) throws { try DurableFile.write(Array("\(number)".utf8), to: path) }
}
