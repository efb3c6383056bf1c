import Foundation
import Testing

@testable import ble

/// `ble info`, `read` and `write`.
@Suite(.timeLimit(.minutes(10))) struct ReadWriteTests {
    @Test func `info prints the whole tree, and its handles can be read`() async throws {
        let run = try await CommandRun.run("info", Demo.values, "--json")
        #expect(run.status == 0)
        try #require(run.output.count == 1)
        let tree = try object(run.output.first)
        #expect(tree["address"] as? String == Demo.values && tree["addressType"] as? String == "public")
        #expect(tree["mtu"] as? Int == 517 && tree["rssi"] is Int)
        let services = try #require(tree["services"] as? [[String: Any]])
        #expect(services.compactMap { $0["uuid"] as? String } == ["1800", "1801", Demo.vendor(0x10)])
        let characteristics = try #require(services.last?["characteristics"] as? [[String: Any]])
        #expect(
            characteristics.compactMap { $0["uuid"] as? String } == [
                Demo.short, Demo.long, Demo.readOnly, Demo.encrypted, Demo.counting,
            ]
        )
        #expect(characteristics[0]["properties"] as? [String] == ["read", "writeWithoutResponse", "write"])
        #expect(characteristics[2]["text"] as? String == "read me")
        #expect((characteristics[3]["error"] as? String)?.contains("Insufficient Authentication") == true)
        let descriptors = try #require(characteristics[0]["descriptors"] as? [[String: Any]])
        #expect(descriptors.first?["uuid"] as? String == "2901")
        #expect(descriptors.first?["text"] as? String == "A short value")

        let handle = try #require(characteristics[2]["handle"] as? String)
        let read = try await CommandRun.run("read", Demo.values, handle, "--json")
        #expect(try object(read.output.first)["text"] as? String == "read me")
    }

    @Test func `info shows people names, values and the link`() async throws {
        let run = try await CommandRun.run("info", Demo.heartRate)
        let text = run.output.joined(separator: "\n")
        for word in ["MTU 517", "dBm", "Heart Rate", "2A37", "(notify)", "0x000", "\"Demo heart rate\""] {
            #expect(text.contains(word), "\(word)")
        }
    }

    @Test func `info prints what it has when a request goes wrong, and says which one failed`() async throws {
        let run = try await CommandRun.run("info", Demo.trouble, "--json")
        #expect(run.status == 1)
        #expect(run.output.joined().contains(Demo.mute) && run.output.joined().contains("Demo trouble"))
        #expect(run.complaint.contains("handle 0x0018") && run.complaint.contains("timed out"))
    }

    @Test func `a value is read with its text and time`() async throws {
        let value = try object(try await CommandRun.run("read", Demo.values, Demo.readOnly, "--json").output.first)
        #expect(value["value"] as? String == "72656164206d65" && value["text"] as? String == "read me")
        let time = try #require(value["time"] as? String)
        #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
    }

    @Test func `a long value is read to its end, and has no text where it is none`() async throws {
        let value = try object(try await CommandRun.run("read", Demo.values, Demo.long, "--json").output.first)
        let octets = (0..<400).map { String(format: "%02x", $0 & 0xFF) }.joined()
        #expect(value["value"] as? String == octets && value["text"] == nil)
    }

    @Test(arguments: ["", "/public"])
    func `the kind of an address is found out, or said`(_ kind: String) async throws {
        let run = try await CommandRun.run("read", Demo.values + kind, Demo.short)
        #expect(run.status == 0 && run.output == ["0102030405"])
    }

    @Test(
        arguments: [
            ("0a0b0c", [String](), [0x12, 0x10, 0x00, 0x0A, 0x0B, 0x0C]),
            ("0A0b", ["--without-response"], [0x52, 0x10, 0x00, 0x0A, 0x0B]),
            ("77", ["--reliable"], [0x16, 0x10, 0x00, 0x00, 0x00, 0x77]),
            ("", [], [0x12, 0x10, 0x00]),
        ] as [(String, [String], [UInt8])]
    )
    func `what is written is on air, as the recording shows`(
        _ hex: String,
        _ options: [String],
        _ pdu: [UInt8]
    ) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "write.btsnoop").path
            let arguments = ["write", Demo.values, "0x0010", hex, "--json", "--capture", file] + options
            let run = try await CommandRun(arguments).end()
            #expect(run.status == 0 && run.output == [#"{"written":\#(hex.count / 2)}"#])
            // It may be an unset variable of a shell.
            #expect(run.complaint.contains("wrote an empty value, of 0 octets") == hex.isEmpty, "\(run.complaint)")
            let octets = try Array(Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(octets.starts(with: Array("btsnoop\0".utf8)))
            // Behind the L2CAP header: length and channel.
            #expect(octets.firstRange(of: [UInt8(pdu.count), 0, 4, 0] + pdu) != nil)
        }
    }

    @Test func `a recording that can't be written is a failure, which says that all else was done`() async throws {
        let run = try await CommandRun.run("read", Demo.values, Demo.readOnly, "--text", "--capture", "/dev/full")
        #expect(run.status == 1 && run.output == ["read me"])
        for words in ["capture to /dev/full", "the command has done everything else"] {
            #expect(run.complaint.contains(words), "\(run.complaint)")
        }
    }

    @Test func `the contents of a file are written`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "value")
            try Data((0..<400).map { UInt8(($0 * 7) & 0xFF) }).write(to: file)
            let run = try await CommandRun.run("write", Demo.values, Demo.long, "@\(file.path)", "-v")
            #expect(run.status == 0 && run.output.isEmpty)
            #expect(run.complaint.contains("400 octets"))
        }
    }

    @Test func `of a file that is too long to be read whole, no other length is told`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "value")
            try Data(count: 1 << 20 | 1).write(to: file)
            let run = try await CommandRun.run("write", Demo.values, Demo.long, "@\(file.path)")
            #expect(run.status == 1 && run.complaint.contains("read \(file.path): overflow"), "\(run.complaint)")
            #expect(run.complaint.contains("more than 1048576 octets") && run.complaint.contains("512"))
            // As long as is read, its length is true.
            try Data(count: 1 << 20).write(to: file)
            let whole = try await CommandRun.run("write", Demo.values, Demo.long, "@\(file.path)")
            #expect(whole.status == 1 && !whole.complaint.contains("more than 1048576"), "\(whole.complaint)")
        }
    }

    @Test func `a text that looks like an option is written behind --, as the help says`() async throws {
        #expect(Help.text(of: Write.self, for: nil).contains("--text -- "))
        let words = ["write", Demo.values, Demo.short, "--text", "--json"]
        let run = try await CommandRun(words + ["--simulated", "--", "-5"], simulated: false).end()
        #expect(run.status == 0, "\(run.complaint)")
        #expect(try object(run.output.first)["written"] as? Int == 2)
    }

    @Test func `@- is standard input, up to its end`() async throws {
        try await withFolder { folder in
            let simulation = ["--simulation", folder.path]
            let write = ["write", Demo.values, Demo.short, "@-", "--json"] + simulation
            let run = try await CommandRun(write, simulated: false, input: "through a pipe\n").end()
            #expect(run.status == 0 && run.output == [#"{"written":15}"#], "\(run)")
            let read = ["read", Demo.values, Demo.short, "--json"] + simulation
            let value = try object(try await CommandRun(read, simulated: false).end().output.first)
            #expect(value["text"] as? String == "through a pipe\n")
        }
    }

    @Test(arguments: [
        (["read", Demo.heartRate, Demo.unknown], "ble info"),
        (["read", Demo.heartRate, "0x0fff"], "Invalid Handle"),
        (["read", Demo.heartRate, "0x2A38"], "a UUID, write it without 0x"),
        (["read", Demo.heartRate, Demo.measurement], "notify"),
        (["read", Demo.values, Demo.encrypted], "Pair"),
        (["read", Demo.trouble, Demo.silent, "--timeout", "1"], "timed out"),
        (["read", Demo.absent, "2A38", "--timeout", "0.5"], "connect to \(Demo.absent): timed out"),
        (["link", Demo.absent, "--timeout", "0.5"], "did not accept a connection within 0."),
        (["pair", Demo.absent, "--read", Demo.encrypted, "--timeout", "0.5"], "did not accept a connection within 0."),
        (["read", "\(Demo.values)/random", Demo.short, "--timeout", "0.5"], "timed out"),
        (["write", Demo.values, Demo.readOnly, "00"], "not supported"),
        (["write", Demo.values, Demo.short, "@/no/such/file"], "/no/such/file"),
        (["write", Demo.values, Demo.long, String(repeating: "00", count: 513)], "512"),
        (["notify", Demo.heartRate, "2A38"], "Read it"),
        (["notify", Demo.heartRate, Demo.unknown], "ble info"),
        (["transfer", Demo.heartRate, Demo.unknown], "ble info"),
        (["read", Demo.heartRate, "2A38", "--capture", "/no/such/folder/x"], "/no/such/folder/x"),
        (["transfer", Demo.transfer, Demo.message, "--output", "/no/such/folder/x"], "/no/such/folder/x"),
        (["transfer", Demo.transfer, Demo.message, "--output", "/tmp"], "/tmp"),
    ])
    func `a failure has status 1, one message and an object for programs`(
        _ arguments: [String],
        _ words: String
    ) async throws {
        let run = try await CommandRun(arguments).end()
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.complaint.contains(words), "\(run.complaint)")
        #expect(run.errors.filter { !$0.contains("simulation") }.count == 1)

        let program = try await CommandRun(arguments + ["--json"]).end()
        #expect(program.status == 1)
        let error = try #require(try object(program.errors.last)["error"] as? [String: Any])
        #expect(error["code"] is String && error["operation"] is String && error["cause"] is String)
    }

    @Test func `a limit that has passed is told once`() async throws {
        let run = try await CommandRun.run("read", Demo.absent, "2A38", "--timeout", "0.5")
        #expect(run.complaint.contains(" within ") && !run.complaint.contains("(after"))
        #expect(!run.complaint.contains(".."))
    }

    @Test func `without an adapter the remedy is named`() async throws {
        // Whatever this machine has, it has no hci4711.
        let run = try await CommandRun.run("read", Demo.heartRate, "2A38", "--adapter", "hci4711", simulated: false)
        #expect(run.status == 1 && run.output.isEmpty && run.errors.count == 1)
    }

    @Test func `verbose speaks on standard error only`() async throws {
        let run = try await CommandRun.run("read", Demo.heartRate, "2A38", "-v")
        #expect(run.output == ["01  chest"])
        for word in ["connecting", "connected", "MTU 517", "discovered"] { #expect(run.complaint.contains(word)) }
    }
}
