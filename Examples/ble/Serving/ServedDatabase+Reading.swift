import BLEStreams
import ConsoleOutput
import FoundationEssentials

extension ServedDatabase {
    /// The largest file, in octets: one for a device with thousands of characteristics is smaller.
    private static let largestFile = 1 << 20

    /// Reads a file.
    ///
    /// - Parameter access: the security that an attribute requires if the file doesn't say.
    /// - Throws: what is wrong with the file, where, and what would be right.
    init(path: String, access: AccessRequirement = .open) throws(UsageError) {
        func refusal(_ words: String) -> UsageError { UsageError("--database '\(path.harmless)': \(words)") }
        if path.isEmpty { throw UsageError("--database needs the name of a file") }
        let octets: [UInt8]
        do {
            octets = try readBeginning(path, Self.largestFile + 1)
        } catch let error as BLEError {
            throw refusal(error.cause + "; pass a file that `ble info --json` has printed")
        } catch {
            throw UsageError.unreadable("--database '\(path.harmless)'", error)
        }
        guard octets.count <= Self.largestFile else {
            throw refusal("it has more than \(Self.largestFile) octets; remove services that are not needed")
        }
        do {
            let file = try JSONDecoder().decode(DatabaseFile.self, from: Data(octets))
            if let twice = RepeatedMember.first(in: octets) {
                throw UsageError(
                    "one object has '\(twice.name.harmless)' twice, for the second time in line \(twice.line); write it "
                        + "once"
                )
            }
            try self.init(file, title: path, access: access)
        } catch let error as DecodingError {
            throw refusal(error.placedText)
        } catch let error as UsageError {
            throw refusal(error.message)
        } catch {
            throw refusal("\(error)")
        }
    }
}
