import Foundation
import Testing

/// What the command says before it touches any radio.
@Suite(.timeLimit(.minutes(10))) struct UsageTests {
    @Test(arguments: ["scan", "info", "read", "write", "notify", "transfer", "serve", "verify"])
    func `every subcommand explains itself and all its options`(_ name: String) async throws {
        let run = try await CommandRun.run(name, "--help", simulated: false)
        #expect(run.status == 0 && run.errors.isEmpty)
        let text = run.output.joined(separator: "\n")
        #expect(text.hasPrefix("usage: ble \(name)"))
        for option in ["--adapter hciN", "--simulated", "--json", "--capture FILE", "-v, --verbose", "-h, --help"] {
            #expect(text.contains(option))
        }
    }

    @Test func `the help lists the subcommands`() async throws {
        for flag in ["-h", "--help"] {
            let run = try await CommandRun.run(flag, simulated: false)
            #expect(run.status == 0 && run.errors.isEmpty)
            let text = run.output.joined(separator: "\n")
            for name in ["scan", "info", "read", "write", "notify", "transfer", "serve", "verify"] {
                #expect(text.contains("  \(name) "))
            }
        }
    }

    @Test func `without a subcommand the usage goes to standard error`() async throws {
        let run = try await CommandRun.run(simulated: false)
        #expect(run.status == 2 && run.output.isEmpty)
        #expect(run.complaint.contains("usage:") && run.complaint.contains("scan"))
    }

    @Test(
        arguments: [
            (["listen"], "listen"),
            (["--frequency", "scan"], "--frequency"),
            (["scan", "--frequency", "11"], "--frequency"),
            (["adapter", "phys", "--set", "3M"], "3M"),
            (["adapter", "on", "--set", "1M"], "--set"),
            (["scan", "-vx"], "'-x'"),
            (["link", Demo.heartRate, "--limits", "15..40"], "they must include 30..50"),
            (["scan", "--s", "180D"], "--service or --simulated"),
            (["scan", "now"], "now"),
            (["scan", "--json=yes"], "--json"),
            (["scan", "--service"], "--service"),
            (["scan", "--service", "18"], "18"),
            (["scan", "--rssi", "loud"], "loud"),
            (["scan", "--rssi", "-40..-80"], "-40..-80"),
            (["scan", "--rssi", ".."], ".."),
            (["scan", "--timeout", "soon"], "soon"),
            (["scan", "--timeout", "-1"], "-1"),
            (["scan", "--timeout", "0"], "0"),
            (["scan", "--timeout", "nan"], "nan"),
            (["scan", "--timeout", "1e-30"], "1e-30"),
            (["scan", "--timeout", "1e10"], "to 1000000000"),
            (["scan", "--count", "-1"], "-1"),
            (["scan", "--count", "many"], "many"),
            (["scan", "--adapter", "wlan0"], "wlan0"),
            (["scan", "--adapter", "hci"], "hci"),
            (["scan", "--adapter", "hci0", "--simulated"], "--simulated"),
            (["scan", "--capture", ""], "--capture"),
            (["info"], "ADDRESS"),
            (["info", "C4:F2:17:1A:1D"], "C4:F2:17:1A:1D"),
            (["info", "C4:F2:17:1A:1D:XX"], "C4:F2:17:1A:1D:XX"),
            (["info", "C4-F2-17-1A-1D-BB"], "C4-F2-17-1A-1D-BB"),
            (["read", "C4:F2:17:1A:1D:BB/elsewhere", "2A38"], "elsewhere"),
            (["read", Demo.heartRate], "CHARACTERISTIC"),
            (["read", Demo.heartRate, "2A38", "2A37"], "2A37"),
            (["read", Demo.heartRate, "heart rate"], "heart rate"),
            (["read", Demo.heartRate, "2A3"], "2A3"),
            (["read", Demo.heartRate, String(Demo.short.dropLast())], String(Demo.short.dropLast())),
            (["read", Demo.heartRate, "0x00000"], "0x00000"),
            (["read", Demo.heartRate, "0x0000"], "0x0000"),
            (["read", Demo.heartRate, "0x+12"], "0x+12"),
            (["write", Demo.values, Demo.short], "HEX|@FILE"),
            (["write", Demo.values, Demo.short, "0"], "0"),
            (["write", Demo.values, Demo.short, "0g"], "0g"),
            (["write", Demo.values, Demo.short, "00", "--reliable", "--without-response"], "--reliable"),
            (["transfer", Demo.transfer, Demo.message, "--eom", ""], "--eom"),
            (["transfer", Demo.transfer, Demo.message, "--eom-at-end", ""], "--eom-at-end"),
            (["transfer", Demo.transfer, Demo.message, "--eom", "a", "--eom-at-end", "b"], "--eom-at-end"),
            (["transfer", Demo.transfer, Demo.message, "--output", ""], "--output"),
            (["scan", "--name-prefix", ""], "--name-prefix"),
            (["scan", "--name-prefix", "Demo", "--name-prefix", ""], "--name-prefix"),
            (["advertise", "--name", ""], "--name"),
            (["bonds", "import", "--bluetoothd", "--folder", ""], "--folder"),
            (["bonds", "export", ""], "FILE"),
            (["bonds", "import", ""], "FILE"),
            (["update", Demo.values, ""], "FILE"),
            (["serve", "--database", ""], "--database needs the name"),
            (["verify", Demo.values, "--database", ""], "--database needs the name"),
            (["write", Demo.values, Demo.short, "@"], "@FILE"),
            (["write", Demo.values, Demo.short, "@-", "--oob", "@-"], "already read for @-"),
            (["pair", Demo.values, "--oob", "@"], "@FILE"),
            (["pair", Demo.values, "--oob", "@/no/such/file"], "can't be read: No such file or directory"),
            (["proxy", "--key", "@/no/such/file"], "can't be read: No such file or directory"),
            (["advertise", "--bthome", "temperature=@-"], "standard input"),
            (["verify", Demo.values, "--passkey", "123456"], "--passkey is for --secure"),
            (["verify", Demo.values, "--just-works"], "--just-works is for --secure"),
            (["proxy", "--make-key", "--listen", "127.0.0.1:0"], "--listen has no meaning"),
            (["proxy", "--make-key", "--name", "here"], "--name has no meaning"),
            (["doctor", "--capture", "air.btsnoop"], "--capture"),
            (["doctor", "--recover", "5"], "--recover"),
            (["help", "scan", "--capture", "air.btsnoop"], "--capture"),
            (["completions", "bash", "--capture", "air.btsnoop"], "--capture"),
            (["proxy", "--make-key", "--capture", "air.btsnoop"], "--capture"),
            (["notify", Demo.values, Demo.counting, "--plot", "--raw"], "--plot and --raw"),
            (["notify", Demo.values, Demo.counting, "--plot", "--text"], "--plot and --text"),
            (["read", Demo.values, Demo.readOnly, "--text", "--json"], "--text and --json"),
            (["--json", "read", Demo.values, Demo.readOnly, "--text"], "--text and --json"),
            (["notify", Demo.values, Demo.counting, "--text", "--json"], "--text and --json"),
            (["help", "scan", "--json"], "--json"),
            (["--json", "help", "--schema"], "--json"),
            (["completions", "bash", "--json"], "--json"),
        ] as [([String], String)]
    )
    func `a wrong call is refused with status 2 and names the culprit`(
        _ arguments: [String],
        _ culprit: String
    ) async throws {
        let run = try await CommandRun(arguments, simulated: false).end()
        #expect(run.status == 2)
        #expect(run.output.isEmpty)
        #expect(run.complaint.contains(culprit))
        #expect(run.errors.count == 2 && run.errors.last?.contains("--help") == true)
    }

    @Test(arguments: [
        (["read", Demo.heartRate, "2A38", "--paskey=314159"], "there is no option '--paskey'"),
        (["--passkey=314159", "read", Demo.heartRate, "2A38"], "there is no option '--passkey'"),
        (["pair", Demo.heartRate, "--pa=314159", "--just-works=314159"], "--just-works takes no value"),
        (["pair", Demo.heartRate, "--s=314159"], "'--s' is ambiguous: "),
        (["proxy", "--keys=314159"], "there is no option '--keys'"),
    ])
    func `a refused option is named without its value, which may be a secret`(
        _ arguments: [String],
        _ words: String
    ) async throws {
        let run = try await CommandRun(arguments, simulated: false).end()
        #expect(run.status == 2 && run.complaint.contains(words), "\(run.complaint)")
        #expect(!run.complaint.contains("314159"), "\(run.complaint)")
    }

    @Test(arguments: [
        (["pair", Demo.values, "--passkey", "123", "456"], "there is an extra argument"),
        (["pair", "--passkey", "123", "456"], "ADDRESS: write an address"),
        (["pair", Demo.values, "--pass", "123", "-456"], "a word that begins with '-'"),
        (["pair", Demo.values, "--passkey", "123", "--456"], "a word that begins with '-'"),
        (["pair", Demo.values, "--oob", "00", "456"], "there is an extra argument"),
        (["read", Demo.values, "--passkey", "123", "456"], "CHARACTERISTIC: write a UUID"),
        (["read", Demo.values, "--passkey", "123", "0x45600"], "CHARACTERISTIC: write a handle"),
        (["read", Demo.values, "2A37/456", "--passkey", "123"], "CHARACTERISTIC/DESCRIPTOR: for the descriptor"),
        (["notify", "--passkey", "123", "456", Demo.values, "2A37"], "ADDRESS: write an address"),
        (["write", Demo.values, "2A37", "--passkey", "123", "45600"], "HEX: write octets"),
        (["serve", "--passkey", "123", "456"], "there is an extra argument"),
        (["proxy", "--key", "abc", "456"], "there is an extra argument"),
    ])
    func `a word beside a secret is not repeated, as it may be a part of it`(
        _ arguments: [String],
        _ words: String
    ) async throws {
        let run = try await CommandRun(arguments, simulated: false).end()
        #expect(run.status == 2 && run.complaint.contains(words), "\(run.complaint)")
        #expect(!run.complaint.contains("456") && !run.complaint.contains("'-4'"), "\(run.complaint)")
        #expect(run.errors.count == 2 && run.errors.last?.contains("--help") == true)
    }

    @Test func `a mistyped option beside a secret is named`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--passkey", "123456", "--jsno", simulated: false)
        #expect(run.status == 2 && run.complaint.contains("there is no option '--jsno'"), "\(run.complaint)")
    }

    @Test func `options may stand before the subcommand, between its words, and as abbreviations`() async throws {
        let run = try await CommandRun.run("--json", "read", Demo.heartRate, "--time=9", "2A38")
        #expect(run.status == 0)
        #expect(try object(run.output.first)["value"] as? String == "01")
    }
}
