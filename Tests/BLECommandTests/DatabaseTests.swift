import BLEDevices
import BLESimulator
import BLEStreams
import Foundation
import Testing

@testable import ble

/// A device that is copied: what `ble info --json` prints of it is served, and looks the same.
@Suite(.timeLimit(.minutes(10))) struct DatabaseTests {
    /// Serves a device, and runs the body with a link to it; reads are answered as the closure says.
    private func withLink(
        to device: LocalPeripheral,
        answering: @escaping @Sendable (PeripheralServer.ReadRequest) -> Void = { $0.reject(.unlikely) },
        _ body: @escaping @Sendable (Link) async throws -> Void
    ) async throws {
        let air = SimulatedAir()
        let radio = air.adapter(settings: AdapterSettings(linkTiming: .fast))
        let central = try await Central.open(.radio(air.adapter(settings: AdapterSettings(linkTiming: .fast))))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await device.run(on: radio, warning: { _ in }) { server in
                    for try await request in server.reads() { answering(request) }
                }
            }
            group.addTask { try await central.peripheral(radio.address).withLink { link in try await body(link) } }
            // The body, unless the device has failed before.
            try await group.next()
            group.cancelAll()
        }
    }

    /// What `ble info --json` prints.
    private func info(_ link: Link) async throws -> String {
        var tree = GATTTree(link: link, database: try await link.discover())
        try await tree.readValues(on: link)
        return "\(tree.json)"
    }

    private func services(_ text: String) throws -> NSArray {
        try #require(try object(text)["services"] as? NSArray)
    }

    private func copy(_ text: String, access: AccessRequirement = .open) throws -> ServedDatabase {
        let file = try JSONDecoder().decode(DatabaseFile.self, from: Data(text.utf8))
        return try ServedDatabase(file, title: "test", access: access)
    }

    private static let elaborate = LocalPeripheral(name: "Elaborate", appearance: 0x0341) {
        LocalService(BluetoothUUID(0xB000), includes: ["hidden"]) {
            LocalCharacteristic(BluetoothUUID(0xB001), [.read, .write, .indicate], value: .text("words")) {
                LocalDescriptor.userDescription("Words", writing: .open)
                LocalDescriptor.presentationFormat(0x19, unit: 0x2700)
            }
            LocalCharacteristic(BluetoothUUID(0xB001), [.read, .broadcast], value: .stored([0xFF]), id: "twin")
            LocalCharacteristic(BluetoothUUID(0xB002), [.read, .notify], value: .text("secret"), access: .encrypted)
            LocalCharacteristic(BluetoothUUID(0xB003), [.read], value: .dynamic)
            LocalCharacteristic(BluetoothUUID(0xB004), [.read], permissions: AttributePermissions())
            LocalCharacteristic(BluetoothUUID(0xB005), [.notify])
            LocalCharacteristic(BluetoothUUID(0xB006), [.read], access: .open.authorized)
        }
        LocalService(BluetoothUUID(0xB100), isPrimary: false, id: "hidden") {
            LocalCharacteristic(BluetoothUUID(0xB101), [.read], value: .stored([]))
        }
    }

    static let devices: [LocalPeripheral] = [
        elaborate, DemoValues().peripheral, DemoHeartRate().peripheral, DemoTransfer().peripheral,
    ]

    @Test(arguments: devices.indices)
    func `what info prints of a device is served, looks the same, and is as it declares`(_ index: Int) async throws {
        let device = Self.devices[index]
        let refuse: @Sendable (PeripheralServer.ReadRequest) -> Void = { $0.reject(.outOfRange) }
        try await withLink(to: device, answering: refuse) { link in
            let original = try await info(link)
            let copy = try copy(original)
            #expect(copy.name == device.name && copy.appearance == device.appearance && copy.notices.isEmpty)
            let declared = LocalPeripheral(name: device.name, appearance: copy.appearance) { copy.services }
            // The original is as the copy declares it, but for a read that its program refuses.
            let refused = try await link.verify(against: declared).filter { $0.kind != .refused(.read, .outOfRange) }
            #expect(refused.allSatisfy { $0.kind == .refused(.read, .readNotPermitted) })
            let answer: @Sendable (PeripheralServer.ReadRequest) -> Void = {
                $0.reject(copy.refusals[$0.characteristic] ?? .unlikely)
            }
            try await withLink(to: declared, answering: answer) { link in
                let again = try await info(link)
                #expect(try services(again) == services(original))
            }
        }
    }

    @Test func `what a secure link has opened is not copied as open`() async throws {
        let secret = LocalPeripheral(name: "Secret") {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([1]), access: .encrypted)
                LocalCharacteristic(BluetoothUUID(0xB002), [.read], value: .stored([2]), access: .authenticated)
            }
        }
        try await withLink(to: secret) { link in
            let plain = try copy(try await info(link))
            #expect(plain.services[0].characteristics.allSatisfy { $0.permissions.read == .encrypted })
            try await link.secure(to: .encrypted, answers: PairingAnswers())
            let opened = try copy(try await info(link))
            #expect(opened.services[0].characteristics.map(\.permissions.read) == [.open, .authenticated])
            // What it took isn't known any more, and that is said.
            #expect(opened.notices.count == 1 && opened.notices[0].contains("--access encrypted"))
            #expect(try copy(try await info(link), access: .encrypted).notices.isEmpty)
        }
    }

    @Test func `the server's own services are taken over as name and appearance`() throws {
        let copy = try copy(
            """
            {"services": [{"uuid": "1800", "characteristics": [
                {"uuid": "2A00", "properties": ["read"], "value": "41"}, {"uuid": "2A01", "value": "4103"},
                {"uuid": "2A04", "properties": ["read"], "value": "0600060000000a00"}]},
              {"uuid": "1801"}, {"uuid": "180D"}]}
            """
        )
        #expect(copy.name == "A" && copy.appearance == 0x0341 && copy.services.map(\.uuid) == [.heartRate])
        #expect(copy.notices.count == 1 && copy.notices[0].contains("2A04"))
        #expect(copy.advertised == [.heartRate])
    }

    @Test func `values come from octets, a count, a file or a command`() async throws {
        try await withFolder { folder in
            let path = folder.appending(path: "value").path
            let texts = [
                #"{"hex": "0aff"}"#, #"{"text": "ok"}"#, #""01""#, #"{"count": 65535, "octets": 2, "step": 2}"#,
            ]
            let values = try texts.map { try JSONDecoder().decode(ValueSource.self, from: Data($0.utf8)) }
            #expect(try await values[0].octets(step: 9) == [0x0A, 0xFF])
            #expect(try await values[1].octets(step: 0) == Array("ok".utf8))
            #expect(try await values[2].octets(step: 0) == [1])
            #expect(try await values[3].octets(step: 0) == [0xFF, 0xFF])
            #expect(try await values[3].octets(step: 1) == [1, 0])
            let file = ValueSource.file(path, every: .seconds(1))
            await #expect(throws: BLEError.self) { try await file.octets(step: 0) }
            try Data([7, 8]).write(to: URL(fileURLWithPath: path))
            #expect(try await file.octets(step: 0) == [7, 8])
            try Data(count: 513).write(to: URL(fileURLWithPath: path))
            await #expect(throws: BLEError.self) { try await file.octets(step: 0) }
            let parent = ValueSource.file(folder.path, every: .seconds(1))
            let error = await #expect(throws: BLEError.self) { try await parent.octets(step: 0) }
            #expect(error?.object == folder.path && error?.cause == "it is not a regular file")
            let nameless = Data(#"{"file": ""}"#.utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(ValueSource.self, from: nameless) }
            let command = ValueSource.command(["printf", "a b"], every: .seconds(1))
            #expect(try await command.octets(step: 0) == Array("a b".utf8))
        }
    }

    @Test(arguments: [["false"], ["/nonexistent"], ["sh", "-c", "kill -9 $$"], ["cat", "/dev/zero"], ["/etc"]])
    func `a command that fails, or says too much, is an error`(_ words: [String]) async throws {
        let error = await #expect(throws: BLEError.self) {
            try await ValueSource.command(words, every: .seconds(1)).octets(step: 0)
        }
        #expect(error?.object == words[0] && error?.operation == "run" && error?.remedy.isEmpty == false)
    }

    @Test func `a command that goes on is killed with all that it has started`() async throws {
        let error = await #expect(throws: BLEError.self) {
            try await ChildProcess.output(of: ["sh", "-c", "sleep 1000"], limit: 10, patience: .milliseconds(50))
        }
        #expect(error?.cause.contains("did not end") == true)
        let run = Task {
            try await ChildProcess.output(of: ["sh", "-c", "sleep 1000; true"], limit: 10, patience: .seconds(1000))
        }
        run.cancel()
        await #expect(throws: CancellationError.self) { try await run.value }
    }
}
