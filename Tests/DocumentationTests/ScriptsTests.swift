import Testing

/// The scripts beside the tests explain themselves, and refuse what they don't know before they build anything.
@Suite(.timeLimit(.minutes(10)), .enabled(if: ScriptRun.hasPython, "there is no python3")) struct ScriptsTests {
    @Test(arguments: [
        "Tests/AssignedNames/generate", "Tests/Benchmarks/counts", "Tests/Coverage/run", "Tests/Fuzzing/run",
        "Tests/KernelLab/run", "Tests/PlantedBugs/run", "Tests/Sanitizers/run",
    ])
    func `--help explains a script, and an unknown option is refused`(_ script: String) throws {
        for option in ["--help", "-h"] {
            let help = try ScriptRun(script, [option])
            #expect(help.status == 0 && help.output.contains("usage: "), "\(option): \(help.output)")
            #expect(help.started == [])
        }
        let refusal = try ScriptRun(script, ["--nonsense"])
        #expect([2, 64].contains(refusal.status) && refusal.output.contains("usage: "), "\(refusal.output)")
        #expect(refusal.started == [])
    }

    @Test(arguments: [
        ("Coverage", ["--report", "all"]), ("Fuzzing", ["nobody"]), ("Fuzzing", [""]),
        ("Fuzzing", ["advertising", "soon"]), ("Fuzzing", ["--try", "advertising"]),
        ("Fuzzing", ["--try", "nobody", "/dev/null"]), ("Fuzzing", ["--keep"]), ("Sanitizers", ["--concurrent"]),
        ("Sanitizers", ["thread", "--concurent"]), ("Sanitizers", ["address", "MailboxTests", "RingTests"]),
        ("PlantedBugs", ["nobody"]), ("PlantedBugs", ["--plan", "--together"]), ("PlantedBugs", ["--no-alone"]),
    ])
    func `arguments that mean nothing are refused before anything is built`(
        _ folder: String,
        _ arguments: [String]
    ) throws {
        let refusal = try ScriptRun("Tests/\(folder)/run", arguments)
        #expect([2, 64].contains(refusal.status) && refusal.output.contains("usage: "), "\(refusal.output)")
        #expect(refusal.started == [])
    }
}
