import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import ble

/// What `ble serve` advertises beside its name and its services, and what follows a file.
@Suite(.timeLimit(.minutes(10))) struct ServedAdvertisementTests {
    /// The first event with this name.
    private func event(_ name: String, of run: CommandRun) async throws -> [String: Any] {
        while true {
            let event = try object(await run.line())
            if event["event"] as? String == name { return event }
        }
    }

    private func fields(_ event: [String: Any]) throws -> [Int: String] {
        let fields = try #require(event["fields"] as? [[String: Any]])
        let pairs = try fields.map { field in
            (try #require(field["type"] as? Int), try #require(field["data"] as? String))
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    private func temperature(_ event: [String: Any]) throws -> Double? {
        let values = try #require((event["beacons"] as? [String: Any])?["bthome"] as? [[String: Any]])
        return values.first { $0["object"] as? String == "temperature" }?["value"] as? Double
    }

    @Test func `a scan sees what the options say`() async throws {
        let words = [
            "--profile", "echo", "--name", "Parrot", "--service", "181A", "--service-data", "180F=64",
            "--manufacturer-data", "FFFF=0102", "--tx-power", "-4", "--appearance", "0x0341", "--interval", "100..150",
        ]
        let serve = try Serve(Arguments(parsing: words, options: Serve.options))
        let (peripheral, _) = try serve.begin()
        #expect(peripheral.appearance == 0x0341)
        #expect(peripheral.advertisement?.interval == .milliseconds(100) ... .milliseconds(150))
        let air = SimulatedAir()
        let central = try await Central.open(.radio(air.adapter()))
        let found = try await peripheral.run(on: air.adapter()) { _ in
            // The name comes with the scan response.
            try await central.scan(for: .namePrefix("Parrot")).first()
        }
        #expect(found.isConnectable && found.name == "Parrot" && found.services == [BluetoothUUID(0x181A)])
        let advertisement = found.advertisement
        #expect(advertisement.txPower == -4 && advertisement.appearance == 0x0341)
        #expect(advertisement.serviceData.map { [UInt8]($0.data) } == [[0x64]])
        #expect(advertisement.manufacturerData.map { [UInt8]($0.data) } == [[1, 2]])
    }

    @Test func `what is advertised is told, beside the services of the profile and the name`() async throws {
        let run = try CommandRun(["serve", "--json", "--name", "Attic", "--bthome", "temperature=21.5"])
        let event = try await event("serving", of: run)
        run.signal(SIGINT)
        #expect(try await run.end().status == 130)
        let fields = try fields(event)
        #expect(fields[0x01] == "06" && fields[0x03] == "0d18" && fields[0x09] == "4174746963")
        #expect(try temperature(event) == 21.5)
    }

    @Test func `what has no room is refused with the octets of each field`() async throws {
        let run = try await CommandRun.run(
            "serve",
            "--profile",
            "echo",
            "--manufacturer-data",
            "FFFF=" + String(repeating: "00", count: 30)
        )
        #expect(run.status == 1)
        for words in ["flags 3", "services 18", "manufacturer data 34", "local name \"ble echo\" 10"] {
            #expect(run.complaint.contains(words), "\(run.complaint)")
        }
    }

    @Test(arguments: ["serve", "advertise"])
    func `a value that stands in a file is followed, and one that is none is told`(_ command: String) async throws {
        try await withFolder { folder in
            let file = folder.appending(path: "temperature")
            try Data("21.5\n".utf8).write(to: file)
            let run = try CommandRun([command, "--json", "--bthome", "temperature=@\(file.path)"])
            let first = try await event(command == "serve" ? "serving" : "advertising", of: run)
            #expect(try temperature(first) == 21.5)
            try Data("22.25".utf8).write(to: file, options: .atomic)
            #expect(try temperature(try await event("advertising", of: run)) == 22.25)
            try Data("warm".utf8).write(to: file, options: .atomic)
            let error = try #require(try await event("unavailable", of: run)["error"] as? [String: Any])
            #expect((error["cause"] as? String)?.contains("it does not contain a number: 'warm'") == true)
            try Data("-3".utf8).write(to: file, options: .atomic)
            #expect(try temperature(try await event("advertising", of: run)) == -3)
            run.signal(SIGINT)
            #expect(try await run.end().status == 130)
        }
    }

    @Test(arguments: ["serve", "advertise"])
    func `a file that isn't there is named before anything is on air`(_ command: String) async throws {
        let run = try await CommandRun.run(command, "--bthome", "temperature=@/nonexistent")
        #expect(run.status == 1 && run.complaint.contains("/nonexistent") && run.output.isEmpty)
    }

    @Test(
        arguments: [
            (["--interval", "5"], "10240"), (["--bthome", "humour=1"], "temperature"),
            (["--bthome", "battery=@"], "@FILE"),
            (["--service-data", "180F"], "180F=64"), (["--manufacturer-data", "apple=00"], "004C"),
            (["--tx-power", "200"], "127"), (["--appearance", "0xFFFFF"], "0x0341"),
            (["--appearance", "phone"], "833"),
            (["--service", "heart"], "180D"), (["--ibeacon", "1,2,3"], "ibeacon"),
        ] as [([String], String)]
    )
    func `what makes no sense is said`(_ arguments: [String], _ words: String) async throws {
        let run = try await CommandRun(["serve"] + arguments).end()
        #expect(run.status == 2 && run.complaint.contains(words), "\(run.complaint)")
    }
}
