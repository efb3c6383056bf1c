import Foundation
import Testing

@Suite(.timeLimit(.minutes(10))) struct ScanTests {
    @Test func `a device is printed with what it advertises`() async throws {
        let run = try await CommandRun.run("scan", "--json", "--service", "180D", "--count", "1")
        #expect(run.status == 0)
        try #require(run.output.count == 2)
        let device = try object(run.output.first)
        #expect(device["address"] as? String == Demo.heartRate)
        #expect(device["addressType"] as? String == "random")
        #expect(device["name"] as? String == "Demo heart rate")
        #expect((device["services"] as? [String])?.contains("180D") == true)
        #expect(device["connectable"] as? Bool == true)
        let rssi = try #require(device["rssi"] as? Int)
        #expect((-127 ... -20).contains(rssi))
        #expect(try object(run.output.last) as? [String: Int] == ["received": 1, "dropped": 0])
    }

    @Test func `a simulation is called one`() async throws {
        let run = try await CommandRun.run("scan", "--count", "1")
        #expect(run.complaint.contains("simulation") && run.complaint.contains("--adapter"))
    }

    @Test func `each device comes once, until there are enough or the time is over`() async throws {
        let enough = try await CommandRun.run("scan", "--json", "--count", "5")
        #expect(enough.status == 0)
        var addresses = try enough.output.dropLast().map { try object($0)["address"] as? String }
        #expect(Set(addresses) == [Demo.heartRate, Demo.transfer, Demo.values, Demo.trouble, Demo.update])
        #expect(addresses.count == 5)
        let limited = try await CommandRun.run("scan", "--json", "--timeout", "5")
        #expect(limited.status == 0)
        addresses = try limited.output.dropLast().map { try object($0)["address"] as? String }
        #expect(Set(addresses).count == addresses.count && addresses.contains(Demo.heartRate))
    }

    @Test func `every advertisement comes where duplicates are wanted`() async throws {
        let run = try await CommandRun.run("scan", "--json", "--duplicates", "--name-prefix", "Demo h", "--count", "3")
        #expect(run.status == 0)
        let addresses = try run.output.dropLast().map { try object($0)["address"] as? String }
        #expect(addresses == [Demo.heartRate, Demo.heartRate, Demo.heartRate])
    }

    @Test func `with changes a device comes again when it advertises something else, and only then`() async throws {
        let options = ["scan", "--json", "--changes", "--name-prefix", "Demo h"]
        let run = try await CommandRun(options + ["--timeout", "3"]).end()
        #expect(run.status == 0)
        #expect(try run.output.dropLast().map { try object($0)["address"] as? String } == [Demo.heartRate])
        #expect(try object(run.output.last) as? [String: Int] == ["received": 1, "dropped": 0])
        let both = try await CommandRun(options + ["--duplicates"]).end()
        #expect(both.status == 2 && both.complaint.contains("exclude each other"))
    }

    @Test func `a window of signal strength keeps the rest out`() async throws {
        let far = try await CommandRun.run("scan", "--json", "--rssi", "..-78", "--count", "1", "--timeout", "60")
        #expect(try object(far.output.first)["address"] as? String == Demo.trouble)
        let none = try await CommandRun.run("scan", "--json", "--rssi=20..", "--timeout", "0.5")
        #expect(none.status == 0 && none.output == [#"{"received":0,"dropped":0}"#])
    }

    @Test func `a passive scan gets no scan responses`() async throws {
        // This name doesn't fit beside the service, so it is in the scan response.
        let name = ["scan", "--json", "--name-prefix", "Demo values", "--count", "1"]
        let active = try await CommandRun(name + ["--timeout", "60"]).end()
        #expect(active.status == 0)
        let passive = try await CommandRun(name + ["--passive", "--timeout", "1"]).end()
        #expect(passive.status == 1 && passive.complaint.contains("timed out"))
    }

    @Test func `too few before the time is over is a failure`() async throws {
        let run = try await CommandRun.run("scan", "--name-prefix", "Nobody", "--count", "1", "--timeout", "0.3")
        #expect(run.status == 1)
        #expect(run.complaint.contains("0 of 1") && run.complaint.contains("--timeout"))
    }

    @Test func `a scan ends when the reader of its lines has left, though it finds nobody else`() async throws {
        let options = ["--service", "180D", "--count", "2", "--timeout", "60"]
        let child = try Child(CommandRun.program, ["scan", "--simulated"] + options)
        var octet: UInt8 = 0
        while read(child.output, &octet, 1) == 1, octet != UInt8(ascii: "\n") {}
        close(child.output)
        let errors = await LineReader(child.errors).rest()
        #expect(await Child.exitStatus(of: child.process) == 0, "\(errors)")
    }

    @Test func `a recording of a scan has the advertisements`() async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "scan.btsnoop").path
            let run = try await CommandRun.run("scan", "--service", "180D", "--count", "1", "--capture", file)
            #expect(run.status == 0)
            let octets = try Array(Data(contentsOf: URL(fileURLWithPath: file)))
            #expect(octets.firstRange(of: "Demo heart rate".utf8) != nil)
        }
    }

    @Test func `people read a line for each device`() async throws {
        let run = try await CommandRun.run("scan", "--service", "180D", "--count", "1")
        try #require(run.output.count == 1)
        for word in [Demo.heartRate, "random", "dBm", "Demo heart rate", "180D"] {
            #expect(run.output[0].contains(word))
        }
    }
}
