/// An entry point of the fuzzer: takes any octets, and says what is wrong.
///
/// The fuzzer looks for octets that make it trap, hang or keep more than it may; a test replays the octets that were
/// kept (Corpora). What it throws is a property that does not hold.
struct FuzzTarget: Sendable {
    /// How it is called on the command line, and the name of its folder in Corpora.
    let name: String
    /// The longest input that is tried, in octets.
    let longest: Int
    /// Inputs to begin with: they lead to where chance alone would need long.
    let seeds: @Sendable () -> [[UInt8]]
    /// Works on the octets as on a peer's.
    let run: @Sendable ([UInt8]) throws -> Void

    init(
        _ name: String,
        longest: Int = 512,
        seeds: @autoclosure @escaping @Sendable () -> [[UInt8]],
        run: @escaping @Sendable ([UInt8]) throws -> Void
    ) {
        self.name = name
        self.longest = longest
        self.seeds = seeds
        self.run = run
    }

    /// All of them.
    static let all: [FuzzTarget] = [
        .advertising, .attPDU, .attClient, .attServer, .assembler, .management, .hci, .cbor, .mcumgr, .btsnoop, .values,
        .profiles, .store, .link, .commandLine, .recording,
    ]
}

/// A property that does not hold.
struct FuzzFinding: Error, CustomStringConvertible {
    let description: String
}

/// Throws the finding where the condition is false.
func require(_ condition: Bool, _ finding: @autoclosure () -> String) throws {
    if !condition { throw FuzzFinding(description: finding()) }
}
