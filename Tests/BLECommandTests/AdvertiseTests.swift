import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import ble

/// `ble advertise`.
@Suite(.timeLimit(.minutes(10))) struct AdvertiseTests {
    @Test(
        arguments: [
            ["--ibeacon", "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0,1,2,-60", "--interval", "100..150"],
            ["--eddystone-url", "https://example.org", "--name", "Door"],
            ["--bthome", "temperature=21.5", "--bthome", "humidity=40", "--name", "Weather", "--interval", "1000"],
            ["--service", "180F", "--service-data", "180F=64", "--manufacturer-data", "FFFF=0102", "--tx-power", "-4"],
        ]
    )
    func `a beacon is on air until it is interrupted`(_ arguments: [String]) async throws {
        let run = try CommandRun(["advertise", "--json"] + arguments)
        let event = try object(await run.line())
        #expect(event["event"] as? String == "advertising" && event["address"] is String)
        run.signal(SIGINT)
        #expect(try await run.end().status == 130)
    }

    @Test func `what is advertised is told, as fields and as what they mean`() async throws {
        let run = try CommandRun([
            "advertise", "--json", "--bthome", "temperature=21.5", "--bthome", "humidity=40", "--name", "Weather",
        ])
        let event = try object(await run.line())
        let fields = try #require(event["fields"] as? [[String: Any]])
        #expect(fields.contains { $0["type"] as? Int == 0x09 && $0["data"] as? String == "57656174686572" })
        let values = try #require((event["beacons"] as? [String: Any])?["bthome"] as? [[String: Any]])
        #expect(values.map { $0["object"] as? String } == ["temperature", "humidity"])
        #expect(values.map { $0["value"] as? Double } == [21.5, 40])
        #expect(values.map { $0["unit"] as? String } == ["°C", "%"])
        run.signal(SIGINT)
        #expect(try await run.end().status == 130)
    }

    @Test func `beacons are read in what a scan hears`() throws {
        let uuid: BluetoothUUID = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
        let beacon = IBeacon(uuid: uuid, major: 7, minor: 9)
        let apple = try AdvertisingData(beacon.fields)
        #expect(apple.beacons.map(\.0) == ["iBeacon"] && apple.beaconTexts == ["iBeacon \(uuid) 7.9"])
        #expect("\(JSON.object(apple.beacons))".contains("\"major\":7,\"minor\":9,\"measuredPower\":-59"))
        let door = try AdvertisingData(try Eddystone.url("https://example.org", power: -20).fields)
        #expect(door.beaconTexts == ["https://example.org"])
        #expect("\(JSON.object(door.beacons))" == #"{"eddystone":{"url":"https://example.org","power":-20}}"#)
        #expect(try AdvertisingData([.localName("plain")]).beacons.isEmpty)
    }

    /// An advertisement has one list of services of a width, and an Eddystone beacon has its own in it.
    @Test(arguments: [["180F"], ["FEAA", "180F"], ["180F", "7A1C0050-5F2B-4C8E-9D3A-6B70E14F2C55"]])
    func `a web address goes with other services`(_ services: [String]) async throws {
        let words = ["--eddystone-url", "https://a.org"] + services.flatMap { ["--service", $0] }
        let arguments = try Arguments(parsing: words, options: Advertise.options)
        let declared = try DeclaredAdvertisement(arguments, beacons: try arguments.beacons(), isConnectable: false)
        var beacon = LocalPeripheral.beacon([])
        beacon.advertisement = try declared.request()
        let air = SimulatedAir()
        let central = try await Central.open(.radio(air.adapter()))
        let found = try await beacon.run(on: air.adapter()) { _ in try await central.scan().first() }
        #expect(Set(found.services) == Set((["FEAA"] + services).compactMap { BluetoothUUID($0) }))
        #expect(found.advertisement.beaconTexts == ["https://a.org"])
    }

    @Test func `what has no room is refused with the octets of each field`() async throws {
        let run = try await CommandRun.run(
            "advertise",
            "--eddystone-url",
            "https://example.org",
            "--name",
            String(repeating: "n", count: 40)
        )
        #expect(run.status == 1 && run.complaint.contains("service data of FEAA") && run.complaint.contains(" 42)"))
        #expect(run.complaint.contains("Leave out local name"))
    }

    @Test func `what selects the services is told in the words of the command`() async throws {
        let services = ["7A1C0050-5F2B-4C8E-9D3A-6B70E14F2C55", "7A1C0051-5F2B-4C8E-9D3A-6B70E14F2C55"]
        let run = try await CommandRun.run(
            "advertise",
            "--name",
            "Tester",
            "--service",
            services[0],
            "--service",
            services[1]
        )
        #expect(run.status == 1 && run.complaint.contains("Leave out services (--service selects them)"))
        #expect(!run.complaint.contains("LocalPeripheral"), "\(run.complaint)")
    }

    @Test(
        arguments: [
            ([], "there is nothing to advertise"), (["--ibeacon", "1,2"], "E2C56DB5"),
            (["--interval", "5", "--name", "n"], "10240"),
            (["--bthome", "humour=1"], "temperature"), (["--bthome", "temperature=400"], "327.67"),
            (["--eddystone-url", "ftp://a"], "https://"), (["--service-data", "180F"], "180F=64"),
            (["--manufacturer-data", "apple=00"], "004C"), (["--tx-power", "200"], "127"),
            (["--manufacturer-data", "+4C=00"], "004C"), (["--manufacturer-data", "0004C=00"], "004C"),
            (["--tx-power", "-128"], "-127"), (["--appearance", "0x+341"], "0x0341"),
        ] as [([String], String)]
    )
    func `what makes no sense is said`(_ arguments: [String], _ words: String) async throws {
        let run = try await CommandRun(["advertise"] + arguments).end()
        #expect(run.status == 2 && run.complaint.contains(words))
    }
}
