import Foundation
import Testing

@testable import ble

/// Help, the manual page and completions: all from the same tables.
@Suite(.timeLimit(.minutes(10))) struct HelpTests {
    static let commands = ble.commands.map { $0.name }

    @Test func `the version is a number`() async throws {
        let run = try await CommandRun.run("--version", simulated: false)
        #expect(run.status == 0 && run.output.count == 1)
        #expect(run.output.first?.contains(/^ble \d+\.\d+\.\d+$/) == true)
    }

    @Test func `help explains a subcommand as --help does`() async throws {
        for name in Self.commands {
            let help = try await CommandRun.run("help", name, simulated: false)
            let option = try await CommandRun.run(name, "--help", simulated: false)
            #expect(help.status == 0 && help.output == option.output && help.output.count > 3)
        }
        let wrong = try await CommandRun.run("help", "listen", simulated: false)
        #expect(wrong.status == 2 && wrong.complaint.contains("'listen'; `ble help` lists them"))
        let all = try await CommandRun.run("help", simulated: false)
        for name in Self.commands { #expect(all.output.contains { $0.hasPrefix("  \(name)") }) }
    }

    @Test func `what is called an option of every command is one`() throws {
        let sections = Help.text(for: nil).split(separator: "\n\n")
        let section = try #require(sections.first { $0.hasPrefix("options of every command") })
        let options = section.matches(of: /--(?<name>[a-z]+)(?<value> [A-Za-z]+)?\s/)
        #expect(options.count >= 8)
        for name in Self.commands {
            for option in options {
                let value = option.output.value.map { _ in ["1"] } ?? []
                guard case .help = Invocation([name, "--\(option.output.name)"] + value + ["--help"]) else {
                    Issue.record("\(name) has no --\(option.output.name)")
                    continue
                }
            }
        }
    }

    @Test func `a long form takes no room from the explanations of others`() {
        let rows = [
            ("scan", "list what is near"), ("adapter [on|off|cycle|reset]", "set its power"), ("-v", "say more"),
        ]
        let table = Help.table(rows, for: 60)
        #expect(
            table
                == "  scan  list what is near\n  adapter [on|off|cycle|reset]\n        set its power\n  -v    say more"
        )
        #expect(
            Help.table(rows, for: nil).split(separator: "\n").allSatisfy { $0.contains("  s") || $0.contains("  l") }
        )
    }

    @Test(arguments: [80, 112]) func `a list in the notes keeps its column, and an example its lines`(columns: Int) {
        let lines = Help.text(of: Serve.self, for: columns).split(separator: "\n").map(String.init)
        let place = lines.firstIndex { $0.hasPrefix("  heart-rate  measurements") }
        let next = place.map { lines[$0 + 1] } ?? ""
        #expect(next.hasPrefix(columns == 80 ? "              body (2A38)" : "  transfer    a message"), "\(next)")
        #expect(lines.contains { $0.hasSuffix("\"every\": 1}}]}]}") })
    }

    @Test func `a paragraph that several commands have stands by itself`() {
        let start = String(SecurityOptions.notes.prefix(30))
        let commands = ble.commands.filter { $0.notes.contains(start) }
        #expect(commands.count > 1)
        for command in commands {
            let text = Help.text(of: command, for: nil)
            #expect(text.contains("\n\n\(start)"), "\(command.name)")
        }
    }

    @Test func `the manual page has each command and option, and nothing that roff obeys by mistake`() async throws {
        let manual = try await CommandRun.run("help", "--manual", simulated: false)
        let text = manual.output.joined(separator: "\n")
        #expect(manual.status == 0 && text.hasPrefix(".TH BLE 1"))
        for name in Self.commands { #expect(text.contains(".SS \"ble \(name)")) }
        for option in ["secure", "plot", "passkey", "version", "just\\-works"] {
            #expect(text.contains("\\-\\-\(option)"))
        }
        // Stopping a service sends SIGTERM, after which the status is not 0.
        #expect(text.contains("SuccessExitStatus=130"))
        let requests = [".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".BR"]
        for line in manual.output where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(requests.contains(String(line.prefix { $0 != " " })), "\(line)")
        }
    }

    @Test func `bash completes commands, their options and fixed words`() async throws {
        try await withFolder { folder in
            let script = folder.appending(path: "ble.bash")
            let run = try await CommandRun.run("completions", "bash", simulated: false)
            try run.output.joined(separator: "\n").write(to: script, atomically: true, encoding: .utf8)
            func completed(_ words: String...) async throws -> [String] {
                let list = words.map { "'\($0)'" }.joined(separator: " ")
                let commands = "source '\(script.path)'; COMP_WORDS=(ble \(list)); COMP_CWORD=\(words.count); _ble; "
                let child = try Child("/bin/bash", ["-c", commands + #"printf '%s\n' "${COMPREPLY[@]}""#])
                async let errors = LineReader(child.errors).rest()
                let lines = await LineReader(child.output).rest()
                #expect(await Child.exitStatus(of: child.process) == 0)
                #expect(await errors.isEmpty)
                return lines.filter { !$0.isEmpty }
            }
            #expect(try await completed("no") == ["notify"])
            #expect(try await completed("notify", "--pl") == ["--plot"])
            #expect(try await completed("--json", "scan", "--dup") == ["--duplicates"])
            #expect(try await completed("--adapter", "hci0", "scan", "--dup") == ["--duplicates"])
            #expect(try await completed("--adapter", "=", "hci0", "scan", "--dup") == ["--duplicates"])
            #expect(try await completed("--simulation", "read", "--json", "no") == ["notify"])
            #expect(try await completed("read", "x", "--secure", "=", "auth") == ["authenticated"])
            #expect(try await completed("serve", "--access", "=") == ["open", "encrypted", "authenticated"])
            #expect(try await completed("adapter", "cy") == ["cycle"])
            #expect(try await completed("help", "adv") == ["advertise"])
            #expect(try await completed("read", "x", "--secure", "auth") == ["authenticated"])
            #expect(try await completed("serve", "--access", "") == ["open", "encrypted", "authenticated"])
            #expect(try await completed("serve", "--profile", "he") == ["heart-rate"])
            #expect(try await completed("pair", "x", "--claim", "") == ["display", "yes-no", "keyboard"])
            let start = String(script.path.dropLast(4))
            #expect(try await completed("update", "x", start) == [script.path])
            let spaced = folder.appending(path: "my image.bin")
            try Data().write(to: spaced)
            let beginning = String(spaced.path.dropLast(10))
            #expect(try await completed("update", "x", beginning) == [spaced.path])
            #expect(try await completed("verify", "x", "--database", beginning) == [spaced.path])
            // As bash splits them; what it puts in place of the last word begins with @ all the same.
            let named = ["@" + spaced.path.replacing(" ", with: "\\ ")]
            #expect(try await completed("pair", "x", "--oob", "@", beginning) == named)
            #expect(try await completed("pair", "x", "--oob", "=@", beginning) == named)
            #expect(try await completed("write", "x", "2A19", "@", beginning) == named)
            #expect(try await completed("write", "x", "2A19", "@" + beginning) == named)
            let cut = String(folder.path.dropLast())
            #expect(try await completed("write", "x", "2A19", "@", cut) == ["@\(folder.path)/"])
            #expect(try await completed("write", "x", "2A19", "@-").isEmpty)
            #expect(try await completed("write", "x", "2A19", beginning).isEmpty)
            #expect(try await completed("pair", "x", "--oob", beginning).isEmpty)
            #expect(try await completed("--vers") == ["--version"])
        }
    }

    @Test func `zsh is told of each command and option`() async throws {
        let run = try await CommandRun.run("completions", "zsh", simulated: false)
        let text = run.output.joined(separator: "\n")
        #expect(text.hasPrefix("#compdef ble"))
        for name in Self.commands {
            #expect(text.contains("'\(name):") && text.contains("            \(name)) _arguments"))
        }
        #expect(text.contains("--passkey=["))
        #expect(text.contains(":LEVEL:(open encrypted authenticated)"))
        #expect(text.contains(":HEX|@FILE:{compset -P @ && _files}"))
        let wrong = try await CommandRun.run("completions", "fish", simulated: false)
        #expect(wrong.status == 2 && wrong.complaint.contains("bash or zsh"))
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/bin/zsh"), "there is no zsh"))
    func `zsh takes the script`() async throws {
        try await withFolder { folder in
            let script = folder.appending(path: "_ble")
            let run = try await CommandRun.run("completions", "zsh", simulated: false)
            try run.output.joined(separator: "\n").write(to: script, atomically: true, encoding: .utf8)
            let child = try Child("/bin/zsh", ["-n", script.path])
            #expect(await LineReader(child.errors).rest().isEmpty)
            #expect(await Child.exitStatus(of: child.process) == 0)
        }
    }
}
