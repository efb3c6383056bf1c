import TestBroker
import Testing

@Suite("The command line", .timeLimit(.minutes(10)))
struct InvocationTests {
    private func run(_ words: String...) async throws -> (status: Int32?, program: RunningProgram) {
        let gateway = try RunningProgram(gatewayProgram, words)
        return (await gateway.waitForEnd(), gateway)
    }

    @Test("explains itself when asked, with success", arguments: ["--help", "-h"])
    func help(_ word: String) async throws {
        let (status, gateway) = try await run(word)
        #expect(status == 0)
        try await gateway.wait { $0.contains("Usage: ble-gateway FILE") }
    }

    @Test("takes one file: of several, each but the last would go unchecked")
    func severalFiles() async throws {
        let (status, gateway) = try await run("--check", "/nowhere/a.json", "/nowhere/b.json")
        #expect(status == 1)
        try await gateway.wait { $0.contains("/nowhere/a.json and /nowhere/b.json: pass one file at a time.") }
    }

    @Test("names what is missing", arguments: [["--check"], ["--check", "--simulated"], []])
    func noFile(_ words: [String]) async throws {
        let gateway = try RunningProgram(gatewayProgram, words)
        #expect(await gateway.waitForEnd() == 1)
        try await gateway.wait { $0.contains("Usage: ble-gateway FILE") }
    }
}
