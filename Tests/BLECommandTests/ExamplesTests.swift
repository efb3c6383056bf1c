import BLEStreams
import Foundation
import Testing

/// The other examples, as somebody runs them who has no adapter.
@Suite(.timeLimit(.minutes(10))) struct ExamplesTests {
    private func run(_ name: String, interruptedAt words: String? = nil) async throws -> CommandRun.Result {
        try await CommandRun(
            ["--simulated"],
            simulated: false,
            of: name,
            interruptedAt: words,
            in: .output
        )
        .end()
    }

    @Test func `HeartRate follows a sensor through a lost link, until it stays away for five attempts`() async throws {
        let run = try await run("HeartRate")
        #expect(run.status == 0)
        let beats = run.output.filter { $0.hasSuffix("beats per minute") }.compactMap { Int($0.prefix { $0.isNumber }) }
        #expect(beats == Array(60...69))
        #expect(run.output.filter { $0.contains("the link ended") }.count == 2)
        #expect(run.output.filter { $0.contains("did not accept a connection") }.count == 5)
        #expect(run.output.last?.hasPrefix("The sensor is gone.") == true)
    }

    @Test func `HeartRate takes its leave on Ctrl-C`() async throws {
        let run = try await run("HeartRate", interruptedAt: "62 beats")
        #expect(run.status == 130 && run.output.last?.hasPrefix("The sensor is gone.") != true, "\(run.output)")
    }

    @Test func `Sensor refuses a target that is out of range, and heats to the next one`() async throws {
        let run = try await run("Sensor")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("80 °C are refused: Out Of Range (0xFF)."))
        #expect(run.output.last == "22.0 °C")
    }

    @Test(.enabled(if: hasNoAdapter, "with an adapter it serves"))
    func `Sensor says what keeps it from serving, and doesn't crash`() async throws {
        let run = try await CommandRun([], simulated: false, of: "Sensor").end()
        #expect(run.status == 1 && run.errors.last?.hasPrefix("Sensor failed: ") == true, "\(run)")
    }

    private static let hasNoAdapter = (try? Central.adapters())?.isEmpty ?? true

    @Test(arguments: [[], ["--simulated"]])
    func `Fleet refuses what is no address, before it uses any adapter`(_ options: [String]) async throws {
        let words = options + ["C4:F2:17:1A:1D:BB", "nearby"]
        let run = try await CommandRun(words, simulated: false, of: "Fleet").end()
        let refusal = "'nearby' is not an address. Write one like C4:F2:17:1A:1D:BB."
        #expect(run.status == 2 && run.output.isEmpty && run.errors == [refusal], "\(run)")
    }

    @Test(arguments: ["C4:F2:17:1A:1D:BB", "--keep"])
    func `Fleet refuses what its simulation would ignore`(_ word: String) async throws {
        let run = try await CommandRun(["--simulated", word], simulated: false, of: "Fleet").end()
        #expect(run.status == 2 && run.output.isEmpty && run.complaint.contains("--simulated"), "\(run)")
    }

    @Test(arguments: [
        ("HeartRate", []), ("Sensor", []), ("Transfer", []), ("Transfer", ["send"]), ("Fleet", []),
        ("Programs", ["logger"]), ("UpdateTiming", []),
    ])
    func `a mistyped option is refused, and starts nothing`(_ name: String, _ words: [String]) async throws {
        let run = try await CommandRun(words + ["--simulatd"], simulated: false, of: name).end()
        #expect(run.status == 2 && run.output.isEmpty && run.complaint.contains("--simulatd'"), "\(run)")
    }

    @Test func `what is printed goes to no descriptor of the program if it was started without standard output`()
        async throws
    {
        let words = ["-c", "exec \"$0\" logger --simulated >&-", CommandRun.program("Programs")]
        let child = try Child("/bin/sh", words)
        let errors = await LineReader(child.errors).rest()
        // A descriptor of the program would have refused the octets, or taken them.
        #expect(errors.last?.hasPrefix("Standard output can't be written: Bad file descriptor.") == true, "\(errors)")
        #expect(await Child.exitStatus(of: child.process) == 1)
    }

    @Test func `Transfer says what it takes instead of two words that exclude each other`() async throws {
        let run = try await CommandRun(["send", "--simulated"], simulated: false, of: "Transfer").end()
        let refusal = "Transfer takes send, --simulated or nothing, and not 'send --simulated'."
        #expect(run.status == 2 && run.output.isEmpty && run.errors == [refusal], "\(run)")
    }

    @Test(arguments: [("HeartRate", [], "62 beats"), ("Programs", ["presence"], "1.1 is here")])
    func `a line comes through a pipe before the next one`(
        _ name: String,
        _ words: [String],
        _ line: String
    ) async throws {
        let arguments = words + ["--simulated"]
        let run = try CommandRun(arguments, simulated: false, of: name, interruptedAt: line, in: .output)
        #expect(try await run.end().status == 130)
    }

    @Test func `Transfer receives a whole message`() async throws {
        let run = try await run("Transfer")
        #expect(run.status == 0)
        #expect(run.output.contains("  a chunk of 512 octets") && run.output.contains("  a chunk of 3 octets"))
        #expect(run.output.last == "2430 octets received.")
    }

    @Test func `Transfer takes its leave on Ctrl-C`() async throws {
        let run = try await run("Transfer", interruptedAt: "Found")
        #expect(run.status == 130 && run.output.last != "2430 octets received.", "\(run.output)")
    }
}
