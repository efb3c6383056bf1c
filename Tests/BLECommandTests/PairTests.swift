import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import ble

/// `ble pair`.
@Suite(.timeLimit(.minutes(10))) struct PairTests {
    @Test func `it pairs, and says how the link is protected`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--json")
        #expect(run.status == 0)
        let said = try object(run.output.first)
        #expect(said["address"] as? String == Demo.values)
        #expect(said["bonded"] as? Bool == true && said["encrypted"] as? Bool == true)
        #expect(said["authenticated"] as? Bool == false)
        #expect(said["hex"] == nil)
    }

    @Test func `it pairs for a value that was refused, and shows it`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--read", Demo.encrypted, "-v")
        #expect(run.status == 0)
        #expect(run.output.count == 2)
        #expect(run.output.first?.contains("public  paired, encrypted") == true)
        #expect(run.output.last?.contains("secret") == true)
        for phase in ["provoke", "pair", "verify"] { #expect(run.complaint.contains("pairing: \(phase)")) }
    }

    @Test func `it pairs with nobody for a value that anybody may read`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--read", Demo.readOnly, "--json")
        #expect(run.status == 0)
        let said = try object(run.output.first)
        #expect(said["wasPaired"] as? Bool == false && said["encrypted"] as? Bool == false)
        #expect(said["hex"] as? String == "72656164206d65")
    }

    @Test func `a device that was not paired with is not said to be paired`() async throws {
        let run = try await CommandRun.run("pair", Demo.values, "--read", Demo.readOnly)
        #expect(run.status == 0 && run.output.first == "\(Demo.values)  public  not paired, not encrypted")
        try await withFolder { folder in
            let common = ["pair", Demo.values, "--simulation", folder.path]
            #expect(try await CommandRun(common, simulated: false).end().status == 0)
            let again = try await CommandRun(common + ["--read", Demo.readOnly], simulated: false).end()
            #expect(again.output.first?.hasPrefix("\(Demo.values)  public  already paired, ") == true)
        }
    }

    @Test func `a device that is paired already is said to be, and not to have taken another passkey`() async throws {
        try await withFolder { folder in
            let common = ["pair", Demo.update, "--simulation", folder.path]
            let first = try await CommandRun(common + ["--passkey", "123456", "--json"], simulated: false).end()
            #expect(first.status == 0, "\(first.complaint)")
            #expect(try object(first.output.first)["wasPaired"] as? Bool == true)
            // The bond encrypts the link, and nobody compares this one.
            let other = common + ["--passkey", "654321"]
            let again = try await CommandRun(other, simulated: false).end()
            #expect(again.status == 0 && again.output == ["\(Demo.update)  random  already paired, encrypted"])
            let said = try object(try await CommandRun(other + ["--json"], simulated: false).end().output.first)
            #expect(said["wasPaired"] as? Bool == false && said["authenticated"] as? Bool == true)
        }
    }

    @Test(arguments: [
        ["read", Demo.values, "2A99", "--secure", "encrypted"],
        ["write", Demo.values, Demo.readOnly, "00", "--secure", "authenticated"],
        ["notify", Demo.values, "2A99", "--secure", "encrypted"],
        ["notify", Demo.values, Demo.counting, "--secure", "encrypted", "--count", "1"],
        ["notify", Demo.values, Demo.counting, "--secure", "encrypted", "--count", "1", "--reconnect"],
        ["verify", Demo.values, "--secure", "encrypted"],
        ["update", Demo.values, #filePath, "--secure", "encrypted"],
    ])
    func `a bond that a command makes is told of, even if the command fails then`(words: [String]) async throws {
        let run = try await CommandRun(words + ["--just-works"]).end()
        let told = run.errors.filter { $0.contains("removes the bond") }
        let words = "ble: paired with \(Demo.values); `ble unpair \(Demo.values)` removes the bond"
        #expect(told == [words], "\(run.complaint)")
    }

    @Test func `what a value requires beyond its pairing is told in options of the command`() async throws {
        let lock = LocalPeripheral(name: "Lock") {
            LocalService(.demo(1)) {
                LocalCharacteristic(.demo(2), [.read], value: .text("closed"), access: .authenticated)
            }
        }
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (adapter, device) = (air.adapter(), air.adapter())
            let words = ["\(device.address)", "--read", Demo.message, "--just-works"]
            let pair = try Pair(Arguments(parsing: words, options: Pair.options))
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await lock.run(on: device) }
                defer { group.cancelAll() }
                try await withEnvironment(on: .radio(adapter), printingTo: .nowhere) { environment in
                    let error = await #expect(throws: BLEError.self) { try await pair.run(in: environment) }
                    let remedy = BLEError.inCommands(error?.remedy ?? "", about: "", isAtTerminal: false)
                    #expect(remedy == "Make the link authenticated: run this at a terminal, or with --passkey.")
                }
            }
        }
    }

    @Test(arguments: [[], ["--read", Demo.encrypted]])
    func `a device is found by how its name begins, and paired with`(options: [String]) async throws {
        let run = try await CommandRun(["pair", "--name-prefix", "Demo val", "--json"] + options).end()
        #expect(run.status == 0, "\(run.complaint)")
        let said = try object(run.output.first)
        #expect(said["address"] as? String == Demo.values && said["encrypted"] as? Bool == true)
        let nobody = try await CommandRun(["pair", "--name-prefix", "Nobody", "--timeout", "0.3"] + options).end()
        #expect(nobody.status == 1 && nobody.complaint.contains("Nobody") && nobody.complaint.contains("timed out"))
        #expect(nobody.complaint.contains("advertising, or allow more time with --timeout."), "\(nobody.complaint)")
    }

    @Test func `a passkey that the device shows is given beforehand`() async throws {
        let run = try await CommandRun.run("pair", Demo.update, "--passkey", "123456", "--json")
        #expect(run.status == 0, "\(run.complaint)")
        #expect(try object(run.output.first)["authenticated"] as? Bool == true)
        let wrong = try await CommandRun.run("pair", Demo.update, "--passkey", "654321", "-v")
        #expect(wrong.status == 1 && wrong.complaint.contains("differs from the one shown"), "\(wrong.complaint)")
        #expect(!wrong.complaint.contains("654321"))
    }

    @Test(arguments: [[], ["--just-works"]])
    func `without a terminal nobody is asked, and the error says what to do`(options: [String]) async throws {
        let run = try await CommandRun(["pair", Demo.update] + options).end()
        #expect(run.status == 1 && run.complaint.contains("--passkey"), "\(run.complaint)")
    }

    /// By their names: what a test is given is printed with it, and passkeys are not to be.
    private static let failing = [
        "a wrong passkey": (["--passkey", "654321"], "wrongPasskey"), "no answers": ([], "needsAnswers"),
        "no person": (["--just-works"], "needsAnswers"),
    ]

    @Test(arguments: failing.keys.sorted())
    func `with --json the reason of a failure is a word that programs can rely on`(_ name: String) async throws {
        let (options, reason) = try #require(Self.failing[name])
        let run = try await CommandRun(["pair", Demo.update, "--json"] + options).end()
        #expect(run.status == 1 && run.output.isEmpty)
        let error = try #require(try object(run.errors.last)["error"] as? [String: Any])
        #expect(error["pairingFailure"] as? String == reason && error["code"] as? String == "securityFailed")
        #expect(error["remedy"] as? String != nil)
        // What is no failure of a pairing has none.
        let other = try await CommandRun.run("read", Demo.values, "2A99", "--json")
        let nothing = try #require(try object(other.errors.last)["error"] as? [String: Any])
        #expect(other.status == 1 && nothing["pairingFailure"] == nil)
    }

    @Test(arguments: [["--passkey", "12345"], ["--passkey", "123456", "--just-works"]])
    func `what can be no passkey is not repeated`(options: [String]) async throws {
        let run = try await CommandRun(["pair", Demo.values] + options).end()
        #expect(run.status == 2 && run.complaint.contains("--passkey") && !run.complaint.contains("12345"))
    }

    @Test(arguments: [["pair", Demo.values], ["serve"]])
    func `what only somebody at a terminal could do is claimed there`(command: [String]) async throws {
        for (claim, words) in [("keyboard", "requires a terminal"), ("telepathy", "display, yes-no, keyboard")] {
            let run = try await CommandRun(command + ["--claim", claim], simulated: true).end()
            #expect(run.status == 2 && run.complaint.contains(words), "\(run.complaint)")
        }
        let both = try await CommandRun(command + ["--claim", "display", "--just-works"], simulated: true).end()
        #expect(both.status == 2 && both.complaint.contains("--claim and --just-works exclude each other"))
    }

    @Test func `who is at a terminal is told what keeps the command from asking`() async throws {
        let pair = ["pair", Demo.update, "--claim", "display"]
        let run = try await CommandRun(pair, columns: 120, isOneTerminal: true, typed: "").end()
        #expect(run.status == 1)
        let words = run.output.joined(separator: " ").split(separator: " ").joined(separator: " ")
        #expect(words.hasSuffix("Run `ble pair \(Demo.update)` without --claim and --just-works, or with --passkey."))
        let calls = "Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:)"
        let text = "First pass the answers once to \(calls)."
        let there = BLEError.inCommands(text, about: "of 2A37 of \(Demo.values)", isAtTerminal: true)
        #expect(there == "First run `ble pair \(Demo.values)`.")
        let elsewhere = BLEError.inCommands(text, about: "of 2A37 of \(Demo.values)", isAtTerminal: false)
        #expect(elsewhere == "First run this at a terminal, or with --passkey or --just-works.")
    }

    @Test(arguments: [
        ["--name-prefix", "Demo"], ["--read", "xyz"], ["--read", "2A37", "--read", "2A38"], ["--timeout", "0"],
    ])
    func `a wrong call has status 2`(options: [String]) async throws {
        let run = try await CommandRun(["pair", Demo.values] + options, simulated: true).end()
        #expect(run.status == 2)
        #expect(run.complaint.contains(options[0]))
    }
}
