import Foundation
import Testing

/// `ble shell`: many commands over one link.
@Suite(.timeLimit(.minutes(10))) struct ShellTests {
    private func shell(_ lines: String..., arguments: [String] = []) async throws -> CommandRun.Result {
        let input = lines.map { $0 + "\n" }.joined()
        return try await CommandRun(["shell", Demo.values] + arguments, input: input).end()
    }

    @Test func `commands are run in order, over one link`() async throws {
        let run = try await shell(
            "read \(Demo.readOnly) --text",
            "  # a comment",
            "write \(Demo.short) 'two words' --text",
            "read \(Demo.short) --json",
            "notify \(Demo.counting) --count 2 --raw",
            arguments: ["-v"]
        )
        #expect(run.status == 0, "\(run.complaint)")
        try #require(run.output.count == 4)
        #expect(run.output[0] == "read me")
        #expect(try object(run.output[1])["text"] as? String == "two words")
        #expect(run.output[2].hasSuffix("  00") && run.output[3].hasSuffix("  01"))
        #expect(run.errors.count { $0.contains(": connecting") } == 1)
        #expect(run.errors.count { $0.contains(": disconnected") } == 1)
    }

    @Test func `a command that fails doesn't end the shell, and shows in its status`() async throws {
        let run = try await shell("read \(Demo.unknown)", "listen", "read", "read \(Demo.readOnly) --text")
        #expect(run.status == 1 && run.output == ["read me"])
        for words in [Demo.unknown, "'listen'", "CHARACTERISTIC is missing"] { #expect(run.complaint.contains(words)) }
    }

    @Test func `standard input has the commands, and so no value`() async throws {
        let run = try await shell("write \(Demo.short) @-", "read \(Demo.readOnly) --text")
        #expect(run.status == 1 && run.output == ["read me"])
        #expect(run.complaint.contains("@-: standard input is already read for the commands"), "\(run.complaint)")
    }

    @Test(arguments: [(["--json"], ""), ([], " --json")])
    func `a failure is an object for whoever asked for objects`(_ arguments: [String], _ option: String) async throws {
        let run = try await shell("read \(Demo.unknown)\(option)", arguments: arguments)
        let error = try object(run.errors.last)["error"] as? [String: Any]
        #expect(run.status == 1 && error?["code"] as? String == "notFound")
    }

    @Test func `exit ends it, and help says what there is`() async throws {
        let run = try await shell("help", "read --help", "exit", "read \(Demo.readOnly)")
        #expect(run.status == 0)
        let text = run.output.joined(separator: "\n")
        #expect(text.contains("  notify CHARACTERISTIC") && text.contains("usage: read [OPTION]… CHARACTERISTIC\n"))
        #expect(text.contains("--json") && !text.contains("--adapter"), "what it can't honour isn't offered")
        #expect(!text.contains("read me"))
        #expect(!text.contains("ADDRESS…"))
    }

    @Test func `what to do is told as it is written here`() async throws {
        let run = try await shell("read \(Demo.unknown)")
        #expect(run.complaint.contains("with `info`.") && !run.complaint.contains("ble info"))
    }

    @Test(arguments: ["\(Demo.values)/public", Demo.values.lowercased()])
    func `what to do is told as it is written here, however the address was written`(address: String) async throws {
        let run = try await CommandRun(["shell", address], input: "read \(Demo.unknown)\n").end()
        #expect(run.complaint.contains("with `info`.") && !run.complaint.contains("ble info"), "\(run.complaint)")
    }

    @Test func `an object tells what to do as it is written here, too`() async throws {
        let run = try await shell("read \(Demo.unknown) --json")
        let error = try #require(try object(run.errors.last)["error"] as? [String: Any])
        #expect(error["remedy"] as? String == "List its services with `info`.")
    }

    @Test func `an option that helps is told as it is written here`() async throws {
        let run = try await CommandRun(["shell", Demo.trouble], input: "notify \(Demo.fickle)\n").end()
        #expect(run.complaint.contains("`notify --reconnect` connects again by itself."), "\(run.complaint)")
    }

    @Test func `a bond that was made and removed again is not offered for removal`() async throws {
        let both = try await shell("pair", "unpair")
        #expect(both.status == 0 && !both.complaint.contains("removes the bond"), "\(both.complaint)")
        let one = try await shell("pair")
        #expect(one.complaint.contains("`ble unpair \(Demo.values)` removes the bond"), "\(one.complaint)")
    }

    @Test func `a bond that a line makes is told of once, with what removes it here`() async throws {
        let run = try await shell("read \(Demo.encrypted) --text", arguments: ["--just-works"])
        let told = run.errors.filter { $0.contains("removes the bond") }
        #expect(told == ["ble: paired with \(Demo.values); `unpair` removes the bond"], "\(run.complaint)")
    }

    @Test func `who answers a device is said once for all lines, unless one says otherwise`() async throws {
        let read = try await shell("read \(Demo.encrypted) --text", arguments: ["--just-works"])
        #expect(read.status == 0 && read.output == ["secret"], "\(read.complaint)")
        let notify = try await shell(
            "notify \(Demo.counting) --secure encrypted --count 1 --raw",
            arguments: ["--just-works"]
        )
        #expect(notify.status == 0 && notify.output.count == 1, "\(notify.complaint)")
        let words = ["shell", Demo.update, "--passkey", "123456"]
        let pair = try await CommandRun(words, input: "pair --json\n").end()
        #expect(pair.status == 0, "\(pair.complaint)")
        #expect(try object(pair.output.first)["authenticated"] as? Bool == true)
        let other = try await CommandRun(words, input: "pair --just-works\n").end()
        #expect(other.status == 1 && other.output.isEmpty, "\(other.output)")
    }

    @Test(arguments: ["\u{4}", "read \(Demo.readOnly) --text\n\u{4}"])
    func `Ctrl-D leaves the line of the prompt`(_ typed: String) async throws {
        let run = try await CommandRun(
            ["shell", Demo.values, "-v"],
            columns: 80,
            isOneTerminal: true,
            typed: typed,
            // The library for editing takes what was typed before it began for something else.
            environment: ["TERM": "dumb"]
        ).end()
        #expect(run.status == 0)
        #expect(run.output.contains("\(Demo.values)> "), "\(run.output)")
        #expect(run.output.last == "ble: \(Demo.values): disconnected", "\(run.output)")
    }

    @Test(arguments: [SIGTERM, SIGHUP])
    func `a signal that nobody types ends the shell, and no further line is run`(_ number: Int32) async throws {
        let input = "notify \(Demo.counting) --raw\nread \(Demo.readOnly) --text\n"
        let run = try CommandRun(["shell", Demo.values, "-v"], input: input)
        #expect(await run.line()?.hasSuffix("  00") == true)
        run.signal(number)
        let end = try await run.end()
        #expect(end.status == 130 && !end.output.contains("read me"), "\(end.complaint)")
        #expect(end.errors.last?.hasPrefix("ble: \(Demo.values): disconnected") == true, "\(end.complaint)")
    }

    @Test func `Ctrl-C ends the command that runs, and the next line is run`() async throws {
        let input = "notify \(Demo.counting) --raw\nread \(Demo.readOnly) --text\n"
        let run = try CommandRun(["shell", Demo.values], input: input)
        #expect(await run.line()?.hasSuffix("  00") == true)
        run.signal(SIGINT)
        let end = try await run.end()
        #expect(end.status == 130 && end.output.last == "read me", "\(end.complaint)")
        #expect(end.errors.contains("ble: interrupted"), "\(end.complaint)")
    }

    @Test(arguments: ["pair --oob @", "verify --database "])
    func `Ctrl-C ends a command that waits for a file, and the next line is run`(_ line: String) async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "pipe").path
            try #require(mkfifo(path, 0o600) == 0)
            let input = "\(line)\(path)\nread \(Demo.readOnly) --text\n"
            let run = try CommandRun(["shell", Demo.values], input: input)
            // Once it reads.
            let writing: Int32 = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: open(path, O_WRONLY | O_CLOEXEC)) }
            }
            defer { close(writing) }
            run.signal(SIGINT)
            let end = try await run.end()
            #expect(end.status == 130 && end.output.last == "read me", "\(end.complaint)")
            #expect(end.errors.contains("ble: interrupted"), "\(end.complaint)")
            #expect(!end.complaint.contains("can't be read"))
        }
    }

    @Test func `a command that failed shows in the status, though nobody reads any more`() async throws {
        let sink = try Sink.unread.open()
        defer { close(sink) }
        let child = try Child(
            CommandRun.program,
            ["shell", Demo.values, "--simulated"],
            sink: sink,
            input: "read \(Demo.unknown)\nread \(Demo.readOnly)\n"
        )
        #expect(await LineReader(child.errors).rest().joined().contains(Demo.unknown))
        #expect(await Child.exitStatus(of: child.process) == 1)
        close(child.output)
    }

    @Test(arguments: [
        ("read \(Demo.readOnly)", false), ("read \(Demo.readOnly) --fresh", true), ("verify", true),
    ])
    func `who wants no remembered services has them discovered again on the link that there is`(
        _ line: String,
        _ isAgain: Bool
    ) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "shell.btsnoop")
            let run = try await shell(line, arguments: ["--capture", file.path])
            #expect(run.status == 0, "\(run.complaint)")
            let octets = try Array(Data(contentsOf: file))
            // Read By Group Type: the primary services, from the first handle on.
            let request: [UInt8] = [0x10, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x28]
            let count = octets.indices.count { octets[$0...].starts(with: request) }
            #expect(count == (isAgain ? 2 : 1))
        }
    }

    @Test(arguments: [("<&-", "Bad file descriptor"), ("</", "Is a directory")])
    func `an input that can't be read is a failure`(_ redirection: String, _ cause: String) async throws {
        let words = ["shell", Demo.values, "--simulated"]
        let script = "exec \"$0\" \"$@\" \(redirection)"
        let child = try Child("/bin/sh", ["-c", script, CommandRun.program] + words)
        async let output = LineReader(child.output).rest()
        let errors = await LineReader(child.errors).rest().joined()
        #expect(errors.contains("read standard input: ") && errors.contains(cause), "\(errors)")
        #expect(await Child.exitStatus(of: child.process) == 1)
        _ = await output
    }

    @Test(arguments: [
        ("write \(Demo.short) 'two words --text", "a quotation mark is not closed: write a second '"),
        ("read \"\(Demo.readOnly)", "a quotation mark is not closed: write a second \""),
        ("exit now", "exit takes no arguments"), ("help read", "help takes no arguments"),
    ])
    func `a line that makes no sense is refused, and the next one is run`(_ line: String, _ words: String) async throws
    {
        let run = try await shell(line, "read \(Demo.readOnly) --text")
        #expect(run.status == 1 && run.output == ["read me"])
        #expect(run.complaint.contains(words), "\(run.complaint)")
    }

    @Test func `the link changes to the parameters that a line wishes for`() async throws {
        let fast = try object(try await shell("link --count 1 --json").output.first)
        #expect((fast["interval"] as? Double ?? 1) < 0.03)
        let run = try await shell("link --parameters lowPower --parameters balanced --count 2 --json")
        let intervals = try run.output.prefix(2).map { try object($0)["interval"] as? Double ?? 0 }
        #expect(run.status == 0 && intervals.count == 2, "\(run.complaint)")
        #expect((intervals.first ?? 0) >= 0.1 && (0.02...0.06).contains(intervals.last ?? 0), "\(intervals)")
        let info = try await shell("info --parameters balanced --json")
        let link = try #require(try object(info.output.first)["link"] as? [String: Any])
        #expect((0.02...0.06).contains(link["interval"] as? Double ?? 0), "\(link)")
    }

    @Test func `where the shell's link is lost, parameters are those of the link that a line makes`() async throws {
        let lines = ["notify \(Demo.fickle) --raw", "link --parameters lowPower --count 1 --json", "info --json"]
        let input = lines.map { $0 + "\n" }.joined()
        let run = try await CommandRun(["shell", Demo.trouble], input: input).end()
        let objects = try run.output.filter { $0.hasPrefix("{") }.map { try object($0) }
        #expect((objects.first?["interval"] as? Double ?? 0) >= 0.1, "\(run.output)")
        let link = try #require(objects.last?["link"] as? [String: Any])
        #expect((link["interval"] as? Double ?? 1) < 0.03, "\(link)")
    }

    @Test func `what contradicts the shell's own options is refused`() async throws {
        let run = try await shell("notify \(Demo.counting) --plot --count 1", arguments: ["--json"])
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.complaint.contains("--plot and --json exclude each other"), "\(run.complaint)")
    }

    @Test func `options that it can't honour are refused`() async throws {
        let run = try await shell("read \(Demo.readOnly) --adapter hci1")
        #expect(run.status == 1 && run.complaint.contains("--adapter"))
    }

    @Test func `a device that is lost is told, and what comes next connects again`() async throws {
        let input = "notify \(Demo.fickle) --raw\ninfo\n"
        let run = try await CommandRun(["shell", Demo.trouble], input: input).end()
        #expect(run.status == 1 && run.complaint.contains("closed by the peer"))
        #expect(run.output.contains { $0.contains("Demo trouble") })
    }

    @Test func `a device that isn't there is a failure`() async throws {
        let run = try await CommandRun(["shell", Demo.absent, "--timeout", "0.5"], input: "help\n").end()
        #expect(run.status == 1 && run.output.isEmpty && run.complaint.contains("timed out"))
    }
}
