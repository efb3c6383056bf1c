import Foundation
import Testing

/// What the octets of known types mean, for people and for programs.
@Suite(.timeLimit(.minutes(10))) struct DecodedValueTests {
    @Test func `info says what values mean`() async throws {
        let run = try await CommandRun.run("info", Demo.heartRate)
        #expect(run.output.contains("          01  chest"))
        #expect(run.output.contains("          57  87 %"))
        #expect(run.output.contains("          4103  Heart Rate Belt"))
        let program = try await CommandRun.run("info", Demo.heartRate, "--json")
        let services = try #require(try object(program.output.first)["services"] as? [[String: Any]])
        let characteristics = services.flatMap { $0["characteristics"] as? [[String: Any]] ?? [] }
        let decoded = Dictionary(
            characteristics.compactMap { entry in (entry["uuid"] as? String).map { ($0, entry["decoded"]) } }
        ) { first, _ in first }
        #expect(decoded["2A38"] as? String == "chest" && decoded["2A19"] as? Int == 87)
    }

    @Test func `notify says what values mean, or hexadecimal alone where that is asked for`() async throws {
        let notify = ["notify", Demo.heartRate, Demo.measurement, "--count", "1"]
        let people = try await CommandRun(notify).end()
        #expect(people.output.first?.contains(#/ 06[0-9a-f]{2}  beats per minute \d+, contact yes$/#) == true)
        let raw = try await CommandRun(notify + ["--raw"]).end()
        #expect(raw.output.first?.contains(#/ 06[0-9a-f]{2}$/#) == true)
        let program = try object(try await CommandRun(notify + ["--json"]).end().output.first)
        let decoded = try #require(program["decoded"] as? [String: Any])
        #expect(decoded["hasContact"] as? Bool == true && (69...75).contains(decoded["beatsPerMinute"] as? Int ?? 0))
        let bare = try object(try await CommandRun(notify + ["--json", "--raw"]).end().output.first)
        #expect(bare["decoded"] == nil && bare["value"] is String)
    }

    @Test(arguments: [40, 80, 120] as [UInt16])
    func `a plot has a point for each value, on a scale as wide as the terminal`(_ columns: UInt16) async throws {
        let notify = ["notify", Demo.heartRate, Demo.measurement, "--count", "8", "--plot"]
        let run = try await CommandRun(notify, columns: columns).end()
        #expect(run.status == 0)
        let points = run.output.filter { $0.hasSuffix("●") }
        #expect(points.count == 8)
        #expect(run.output.first?.contains(/^ +\d+ +\d+$/) == true, "the scale comes first")
        for line in run.output { #expect(line.count < Int(columns), "\(line)") }
        // The widest swing of these values takes most of the scale.
        let widths = points.map { $0.count { $0 == "─" } }
        #expect((widths.max() ?? 0) - (widths.min() ?? 0) > (Int(columns) - 24) / 4)
    }

    @Test func `a plot is for people, and of values that are numbers`() async throws {
        let wrong = try await CommandRun.run("notify", Demo.heartRate, Demo.measurement, "--plot", "--json")
        #expect(wrong.status == 2 && wrong.complaint.contains("--plot"))
        let counted = try await CommandRun.run("notify", Demo.values, Demo.counting, "--plot", "--count", "3")
        #expect(counted.status == 0 && counted.output.last?.contains(#/ 2  ─*●$/#) == true)
    }

    @Test func `a descriptor is read and written by its type`() async throws {
        let read = try await CommandRun.run("read", Demo.values, "\(Demo.short)/2901", "--text")
        #expect(read.status == 0 && read.output == ["A short value"])
        let byHandle = try await CommandRun.run("read", Demo.values, "0x0010/2901", "--json")
        #expect(try object(byHandle.output.first)["text"] as? String == "A short value")
        let written = try await CommandRun.run("write", Demo.heartRate, "\(Demo.measurement)/2902", "0100", "--json")
        #expect(written.status == 0 && written.output == [#"{"written":2}"#])
        let missing = try await CommandRun.run("read", Demo.values, "\(Demo.short)/2905")
        #expect(missing.status == 1 && missing.complaint.contains("2905") && missing.complaint.contains("ble info"))
        let malformed = try await CommandRun.run("read", Demo.values, "\(Demo.short)/x")
        #expect(malformed.status == 2 && malformed.complaint.contains("\(Demo.short)/x"))
        let unwanted = try await CommandRun.run("notify", Demo.values, "\(Demo.short)/2901")
        #expect(unwanted.status == 2)
    }

    @Test func `text is written as UTF-8`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "write.btsnoop").path
            let run = try await CommandRun.run("write", Demo.values, "0x0010", "żółw", "--text", "--capture", file)
            #expect(run.status == 0)
            let octets = try Array(Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(octets.firstRange(of: [0x12, 0x10, 0x00] + Array("żółw".utf8)) != nil)
        }
        let both = try await CommandRun.run("read", Demo.values, Demo.short, "--text", "--raw")
        #expect(both.status == 2 && both.complaint.contains("--raw"))
    }
}
