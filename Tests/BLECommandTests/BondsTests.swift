import Foundation
import Testing

/// `ble bonds`.
@Suite(.timeLimit(.minutes(10))) struct BondsTests {
    /// A file of bluetoothd's about one device.
    private func makeBluetoothdFile(
        in folder: URL,
        _ key: String = "00112233445566778899AABBCCDDEEFF"
    ) throws -> String {
        let device = folder.appending(path: "bluetooth/00:AA:01:01:00:01/C4:F2:17:1A:1D:BB")
        try FileManager.default.createDirectory(at: device, withIntermediateDirectories: true)
        let text = "[General]\nAddressType=static\n\n[LongTermKey]\nKey=\(key)\nAuthenticated=3\n"
        try Data(text.utf8).write(to: device.appending(path: "info"))
        return folder.appending(path: "bluetooth").path()
    }

    @Test func `what bluetoothd keeps is imported when asked for, and shown without a key`() async throws {
        try await withFolder { folder in
            let theirs = try makeBluetoothdFile(in: folder)
            let run = try await CommandRun.run("bonds", "import", "--bluetoothd", "--folder", theirs, "--json", "-v")
            #expect(run.status == 0 && run.output.count == 1, "\(run.complaint)")
            let bond = try object(run.output.first)
            #expect(bond["address"] as? String == "C4:F2:17:1A:1D:BB" && bond["addressType"] as? String == "random")
            #expect(bond["adapter"] as? String == "00:AA:01:01:00:01" && bond["authenticated"] as? Bool == true)
            #expect(!(run.output + run.errors).joined().uppercased().contains("112233445566778899"))
        }
    }

    @Test func `a key that is none, and a folder that isn't there, are errors with what to do`() async throws {
        try await withFolder { folder in
            let theirs = try makeBluetoothdFile(in: folder, "0011223344")
            let damaged = try await CommandRun.run("bonds", "import", "--bluetoothd", "--folder", theirs)
            #expect(damaged.status == 1 && damaged.complaint.contains("C4:F2:17:1A:1D:BB/info: malformed value"))
            #expect(!damaged.complaint.contains("0011223344"))
            let nowhere = try await CommandRun.run("bonds", "import", "--bluetoothd", "--folder", "/nowhere")
            #expect(nowhere.status == 1 && nowhere.complaint.contains("--folder"), "\(nowhere.complaint)")
        }
    }

    @Test func `what is exported is imported, goes to no terminal, and the file is overwritten by nobody`() async throws
    {
        try await withFolder { folder in
            let file = folder.appending(path: "bonds.json").path()
            let export = try await CommandRun.run("bonds", "export", file)
            #expect(export.status == 0 && export.output.isEmpty, "\(export.complaint)")
            for path in [file, "/dev/stdout", "/dev/tty"] {
                let again = try await CommandRun.run("bonds", "export", path)
                #expect(again.status == 1 && again.output.isEmpty)
                #expect(again.complaint.contains("a file with that name exists already"), "\(again.complaint)")
            }
            let imported = try await CommandRun.run("bonds", "import", file)
            #expect(imported.status == 0 && imported.complaint.contains("there are no bonds to import"))
            let missing = try await CommandRun.run("bonds", "import", folder.appending(path: "none.json").path())
            #expect(missing.status == 1 && missing.complaint.hasSuffix("directory. Check that the path is correct."))
            let none = try await CommandRun.run("bonds", "import", folder.path())
            #expect(none.status == 1 && none.complaint.contains("it is a folder"), "\(none.complaint)")
            #expect(none.complaint.contains("--bluetoothd --folder") && !none.complaint.contains("Bond."))
        }
    }

    @Test func `the keys of an adapter that is gone are listed and exported`() async throws {
        try await withFolder { folder in
            let air = folder.appending(path: "air").path
            let pairing = ["pair", Demo.heartRate, "--simulation", air]
            let paired = try await CommandRun(pairing, simulated: false).end()
            try #require(paired.status == 0, "\(paired.complaint)")
            let store = folder.appending(path: "blestreams")
            try FileManager.default.moveItem(at: URL(filePath: "\(air)/central"), to: store)
            let file = folder.appending(path: "bonds.json").path
            let environment = ["XDG_STATE_HOME": folder.path, "STATE_DIRECTORY": ""]
            for words in [["--json"], ["export", file]] {
                let run = try await CommandRun(
                    ["bonds", "--adapter", "hci4711"] + words,
                    simulated: false,
                    environment: environment
                ).end()
                #expect(run.status == 0, "\(run.complaint)")
                guard words == ["--json"] else { continue }
                #expect(try object(run.output.first)["address"] as? String == Demo.heartRate)
            }
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains(Demo.heartRate))
        }
    }

    @Test(arguments: [
        ["export"], ["import"], ["import", "FILE", "--bluetoothd"], ["send", "FILE"], ["export", "A", "B"],
        ["export", "A", "--replace"], ["--bluetoothd"], ["import", "FILE", "--folder", "F"],
    ])
    func `a wrong call has status 2`(words: [String]) async throws {
        let run = try await CommandRun(["bonds"] + words).end()
        #expect(run.status == 2, "\(run.complaint)")
    }
}
