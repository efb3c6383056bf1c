import BLEStreams
import Foundation
import Testing

@testable import ble

@Suite(.timeLimit(.minutes(10))) struct NotifyTests {
    @Test func `values come as they are sent, and are counted in the end`() async throws {
        let run = try await CommandRun.run("notify", Demo.heartRate, Demo.measurement, "--count", "2", "--json")
        #expect(run.status == 0)
        try #require(run.output.count == 3)
        for line in run.output.dropLast() {
            let value = try object(line)["value"] as? String
            #expect(value?.hasPrefix("06") == true)
        }
        #expect(run.output.last == #"{"received":2,"dropped":0}"#)
    }

    @Test(arguments: [[], ["--reconnect"]])
    func `a device that is named twice sends each value once`(_ options: [String]) async throws {
        let words = ["notify", Demo.heartRate, "\(Demo.heartRate)/random", Demo.measurement, "--count", "2", "--json"]
        let run = try await CommandRun(words + options).end()
        let times = try run.output.dropLast().map { try object($0)["time"] as? String }
        #expect(run.status == 0 && times.count == 2 && times.first != times.last)
    }

    @Test func `indications come in order, and by their handle too`() async throws {
        let run = try await CommandRun.run("notify", Demo.values, "0x001A", "--count", "5", "--json")
        #expect(run.status == 0)
        let values = try run.output.dropLast().map { try object($0)["value"] as? String }
        #expect(values == ["00", "01", "02", "03", "04"])
    }

    @Test func `the time ends a stream, and that is no failure`() async throws {
        let run = try await CommandRun.run("notify", Demo.trouble, Demo.mute, "--timeout", "5", "--json")
        #expect(run.status == 0 && run.output == [#"{"received":0,"dropped":0}"#])
    }

    @Test func `too few before the time is over is a failure`() async throws {
        let run = try await CommandRun.run("notify", Demo.trouble, Demo.mute, "--count", "1", "--timeout", "1")
        #expect(run.status == 1 && run.complaint.contains("0 of 1"))
    }

    @Test func `too few are told of with the device, and with what to do about its values or its link`() async throws {
        let limits = ["--timeout", "1", "--count"]
        let silent = try await CommandRun(["notify", Demo.trouble, Demo.mute] + limits + ["1"]).end()
        let values = "notify \(Demo.mute) of \(Demo.trouble): timed out: 0 of 1 arrived within 1.00 s. Check that"
        #expect(silent.status == 1 && silent.complaint.contains(values), "\(silent.complaint)")
        #expect(!silent.complaint.contains("cycle"), "\(silent.complaint)")
        // Its link is up, and power-cycling the adapter would only end it.
        let steady = try await CommandRun(["link", Demo.heartRate] + limits + ["2"]).end()
        let changes = "link with \(Demo.heartRate): timed out: 1 of 2 arrived within 1.00 s. A link changes when"
        #expect(steady.status == 1 && steady.output.count == 1)
        #expect(steady.complaint.contains(changes) && !steady.complaint.contains("cycle"), "\(steady.complaint)")
    }

    @Test func `a device that can't be reached is a failure`() async throws {
        let run = try await CommandRun.run("notify", Demo.absent, Demo.measurement, "--timeout", "0.5")
        #expect(run.status == 1 && run.complaint.contains("connect to \(Demo.absent): timed out"))
    }

    @Test func `a device that was never reached has not sent too little`() async throws {
        let run = try await CommandRun.run(
            "notify",
            Demo.absent,
            Demo.measurement,
            "--count",
            "3",
            "--timeout",
            "0.5"
        )
        #expect(run.status == 1 && run.complaint.contains("connect to \(Demo.absent): timed out"))
        #expect(!run.complaint.contains("0 of 3"))
    }

    @Test func `a device is waited for as long as the limit says`() async throws {
        let words = ["\(Demo.absent)/random", Demo.measurement, "--timeout", "120"]
        let notify = try Notify(Arguments(parsing: words, options: Notify.options))
        let time = try await timeToFail { try await notify.run(in: $0) }
        #expect(time >= .seconds(120), "\(time)")
    }

    @Test func `one of several that was never reached is named`() async throws {
        let words = ["notify", Demo.heartRate, Demo.absent, Demo.measurement, "--timeout", "5"]
        let run = try await CommandRun(words).end()
        #expect(run.status == 0 && !run.output.isEmpty, "\(run)")
        #expect(run.errors.last == "ble: \(Demo.absent) was never connected", "\(run.complaint)")
        #expect(!run.complaint.contains("\(Demo.heartRate) was"))
    }

    @Test func `a lost link is a failure with its reason, after everything that came`() async throws {
        let run = try await CommandRun.run("notify", Demo.trouble, Demo.fickle, "--json")
        #expect(run.status == 1)
        try #require(run.output.count == 6)
        #expect(run.output.last == #"{"received":5,"dropped":0}"#)
        #expect(run.complaint.contains("disconnected") && run.complaint.contains("closed by the peer"))
        #expect(run.complaint.contains("`ble notify --reconnect` connects again by itself."))
        let error = try #require(try object(run.errors.last)["error"] as? [String: Any])
        #expect(error["code"] as? String == "disconnected" && error["reason"] is String)
    }

    @Test(arguments: [[], ["--reconnect"]])
    func `a characteristic that isn't there is named, and how to list them`(options: [String]) async throws {
        let run = try await CommandRun(["notify", Demo.values, "2A37"] + options).end()
        #expect(run.status == 1 && run.output.isEmpty)
        #expect(run.complaint.contains("ble: notifications of 2A37 of \(Demo.values): not found: "), "\(run.complaint)")
        #expect(run.complaint.contains("`ble info \(Demo.values)`"))
    }

    @Test func `--secure has the link encrypted before anything is subscribed to`() async throws {
        try await withFolder { folder in
            let simulation = ["--simulation", folder.path]
            let notify = ["notify", Demo.values, Demo.counting, "--secure", "encrypted", "--just-works"]
            let run = try await CommandRun(notify + ["--count", "2"] + simulation, simulated: false).end()
            #expect(run.status == 0 && run.output.count == 2, "\(run)")
            // Pairing has left a bond.
            let bonds = try await CommandRun(["bonds"] + simulation, simulated: false).end()
            #expect(bonds.output.count == 1 && bonds.output.first?.hasPrefix(Demo.values) == true, "\(bonds)")
        }
    }

    @Test func `without the security that --secure requires no value is printed`() async throws {
        let notify = ["notify", Demo.values, Demo.counting, "--secure", "authenticated", "--just-works"]
        let run = try await CommandRun(notify + ["--count", "1", "--timeout", "60"]).end()
        #expect(run.status == 1 && run.output.isEmpty && run.complaint.contains("secure link"), "\(run)")
    }

    @Test func `-v says that there is a link, and not that it is idle`() async throws {
        let options = ["--reconnect", "-v", "--count", "1"]
        let run = try await CommandRun(["notify", Demo.heartRate, Demo.measurement] + options).end()
        #expect(run.status == 0 && run.errors.contains("ble: \(Demo.heartRate): connected"), "\(run.complaint)")
        #expect(!run.complaint.contains("idle"))
    }

    @Test func `reconnecting goes on behind a gap, which is told`() async throws {
        let run = try await CommandRun.run(
            "notify",
            Demo.trouble,
            Demo.fickle,
            "--reconnect",
            "--count",
            "8",
            "--json"
        )
        #expect(run.status == 0)
        try #require(run.output.count == 10)
        let values = try run.output.map { try object($0)["value"] as? String ?? "" }
        #expect(values == ["00", "01", "02", "03", "04", "", "00", "01", "02", ""])
        let gap = try #require(try object(run.output[5])["gap"] as? [String: Any])
        #expect((gap["reason"] as? [String: Any])?["code"] as? String == "disconnected")
        #expect((gap["duration"] as? Double ?? 0) > 0 && gap["dropped"] as? Int == 0)
        #expect(run.output.last == #"{"received":8,"dropped":0}"#)
        #expect(run.complaint.contains("disconnected") && run.complaint.contains("gap: nothing was received for"))
    }

    @Test func `people read how long a gap was, how much was dropped, or why values may be missing`() {
        let lost = BLEError(.disconnected, operation: "notifications", cause: "the link was lost")
        #expect(StreamGap(reason: lost, duration: .seconds(3)).text == "gap: nothing was received for 3.00 s")
        #expect(StreamGap(dropped: 7).text == "gap: 7 values were dropped")
        let moved = BLEError(.servicesChanged, operation: "notifications", cause: "the services changed")
        #expect(StreamGap(reason: moved).text == "gap: the services changed")
        #expect(StreamGap(reason: moved, dropped: 7).text == "gap: 7 values were dropped")
    }

    @Test func `people read time and value`() async throws {
        let run = try await CommandRun.run("notify", Demo.heartRate, Demo.measurement, "--count", "1")
        try #require(run.output.count == 1)
        #expect(run.output[0].wholeMatch(of: /\d\d:\d\d:\d\d\.\d{3}  06[0-9a-f]{2}( .*)?/) != nil)
    }
}
