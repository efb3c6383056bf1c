import BLEDevices
import BLESimulator
import BLEStreams
import Testing

/// A client made from a declaration, against servers that keep to it and servers that err.
@Suite(.timeLimit(.minutes(10))) struct VerificationTests {
    private static let uuid = BluetoothUUID(0xF200)
    private static let value = BluetoothUUID(0xF201)
    private static let other = BluetoothUUID(0xF202)

    private static func offering(_ services: LocalService...) -> LocalPeripheral {
        LocalPeripheral(name: "Device") { services }
    }

    private static func device(
        _ properties: Characteristic.Properties = [.read],
        value octets: LocalCharacteristic.Value = .stored([1]),
        access: AccessRequirement = .open,
        permissions: AttributePermissions? = nil,
        descriptors: [LocalDescriptor] = []
    ) -> LocalPeripheral {
        offering(
            LocalService(uuid) {
                LocalCharacteristic(value, properties, value: octets, access: access, permissions: permissions) {
                    descriptors
                }
            }
        )
    }

    /// What is found where something else is served than is declared; `nil` stands for the device's own claims.
    private func findings(
        of served: LocalPeripheral,
        against declared: LocalPeripheral?,
        writing: Bool = false,
        faults: [Fault] = [],
        refusing error: ATTError? = nil
    ) async throws -> [Link.VerificationFinding] {
        let found = Recorder<Link.VerificationFinding>()
        try await Bench.run(description: served) { server, _ in
            for try await request in server.reads() { error.map { request.reject($0) } }
        } _: { bench in
            for fault in faults { bench.air.faults.add(fault) }
            try await bench.peripheral.withLink { link in
                let findings =
                    if let declared { try await link.verify(against: declared, writing: writing) } else {
                        try await link.verify(writing: writing)
                    }
                for finding in findings { found.add(finding) }
            }
        }
        return found.all
    }

    private static let all = offering(
        LocalService(uuid, includes: ["other"]) {
            LocalCharacteristic(value, [.read, .write, .notify, .indicate], value: .stored([1, 2])) {
                LocalDescriptor.userDescription("Changes", writing: .open)
                LocalDescriptor.presentationFormat(6, unit: 0x272F)
            }
            LocalCharacteristic(value, [.writeWithoutResponse], id: "second")
            LocalCharacteristic(other, [.read, .notify], access: .encrypted, id: "closed")
        },
        LocalService(other, isPrimary: false, id: "other")
    )

    @Test func `nothing is found where all is as declared, and its own claims are kept`() async throws {
        for declared in [Self.all, nil] {
            for writing in [false, true] {
                #expect(try await findings(of: Self.all, against: declared, writing: writing) == [])
            }
        }
        #expect(try await findings(of: Bench.description, against: Bench.description, refusing: .unlikely).count == 1)
    }

    @Test func `what is missing is found, and what is too much in a declared service`() async throws {
        let twin = LocalService(Self.uuid) { LocalCharacteristic(Self.value, [.read], value: .stored([1])) }
        let more = LocalService(Self.uuid, includes: ["more"]) {
            LocalCharacteristic(Self.value, [.read], value: .stored([1])) { LocalDescriptor.userDescription("Value") }
            LocalCharacteristic(Self.other, [.write])
        }
        let included = LocalService(Self.other, id: "more")
        #expect(
            try await findings(of: Self.offering(twin), against: Self.offering(more, included)).map(\.kind) == [
                .missingInclude(Self.other), .missing, .missing, .missing,
            ]
        )
        let reverse = try await findings(of: Self.offering(more, included), against: Self.offering(twin))
        #expect(reverse.map(\.kind) == [.undeclared, .undeclared])
        #expect(reverse.map(\.descriptor) == [.characteristicUserDescription, nil])
        #expect(reverse.map(\.characteristic) == [Self.value, Self.other] && reverse.allSatisfy { $0.handle != nil })
    }

    @Test func `a secondary service is not the primary one that is declared`() async throws {
        let served = Self.offering(LocalService(Self.uuid, isPrimary: false))
        let found = try await findings(of: served, against: Self.offering(LocalService(Self.uuid)))
        #expect(found == [Link.VerificationFinding(.missing, service: Self.uuid)])
    }

    @Test func `other properties are found, and only what both have is tried`() async throws {
        let found = try await findings(of: Self.device([.write]), against: Self.device([.read, .write]))
        #expect(found.map(\.kind) == [.otherProperties(declared: [.read, .write], found: [.write])])
    }

    @Test func `a read that is refused is found with its error, declared or claimed`() async throws {
        let served = Self.device(value: .dynamic)
        for declared in [Self.device(), nil] {
            let found = try await findings(of: served, against: declared, refusing: .outOfRange)
            #expect(found.map(\.kind) == [.refused(.read, .outOfRange)] && found.first?.characteristic == Self.value)
        }
    }

    @Test func `a write that is refused is found where writing is asked for`() async throws {
        let declared = Self.device([.read, .write])
        let served = Self.device([.read, .write], permissions: .readOnly)
        #expect(try await findings(of: served, against: declared) == [])
        let found = try await findings(of: served, against: declared, writing: true)
        #expect(found.map(\.kind) == [.refused(.write, .writeNotPermitted)])
    }

    @Test func `what is open and declared closed is found, and the other way round`() async throws {
        let (open, closed) = (Self.device([.read, .notify]), Self.device([.read, .notify], access: .encrypted))
        #expect(
            try await findings(of: open, against: closed).map(\.kind) == [.permitted(.read), .permitted(.subscribe)]
        )
        #expect(
            try await findings(of: closed, against: open).map(\.kind) == [
                .refused(.read, .insufficientAuthentication), .refused(.subscribe, .insufficientAuthentication),
            ]
        )
        // A device may claim that.
        #expect(try await findings(of: closed, against: nil) == [])
    }

    @Test func `on an encrypted link what is declared to take one is read`() async throws {
        let closed = Self.device([.read, .notify], access: .encrypted)
        try await Bench.run(description: closed) { bench in
            try await bench.peripheral.withLink { link in
                try await link.secure(to: .encrypted, answers: PairingAnswers())
                #expect(try await link.verify(against: closed) == [])
                let stricter = Self.device([.read, .notify], access: .authenticated)
                let found = try await link.verify(against: stricter)
                #expect(found.map(\.kind) == [.permitted(.read), .permitted(.subscribe)])
            }
        }
    }

    @Test func `another value of a constant descriptor is found`() async throws {
        let served = Self.device(descriptors: [.userDescription("A")])
        let found = try await findings(of: served, against: Self.device(descriptors: [.userDescription("B")]))
        #expect(found.map(\.kind) == [.otherValue(declared: [0x42], found: [0x41])])
    }

    @Test func `a characteristic without a descriptor to subscribe with is found`() async throws {
        let served = Self.device([.notify])
        // No descriptors at all are told of.
        let hidden = Fault.replace(.opcode(0x05), with: [0x01, 0x04, 0x01, 0x00, 0x0A])
        for declared in [served, nil] {
            let found = try await findings(of: served, against: declared, faults: [hidden])
            let own = found.filter { $0.service == Self.uuid }
            #expect(own.map(\.kind) == [.missing] && own.first?.descriptor == .clientCharacteristicConfiguration)
        }
    }

    @Test func `a device that doesn't answer ends it, and what was found until then is told`() async throws {
        let served = Self.device([.read], descriptors: [.userDescription("A")])
        try await Bench.run(description: served) { bench in
            try await bench.peripheral.withLink { link in
                _ = try await link.discover()
                bench.air.faults.add(.swallow(.readResponses))
                let found = try await link.verify(against: Self.device([.read, .write]), timeout: .seconds(3))
                #expect(found.count == 2 && found.first?.handle != nil)
                guard case .failed(.read, let cause)? = found.last?.kind else {
                    Issue.record("\(found)")
                    return
                }
                #expect(!cause.isEmpty)
            }
        }
    }

    @Test func `a finding reads as a sentence that names the place`() {
        let finding = Link.VerificationFinding(
            .refused(.subscribe, .unlikely),
            service: .heartRate,
            characteristic: BluetoothUUID(0x2A37),
            handle: 0x10
        )
        let text = "service 180D, characteristic 2A37 at 0x0010: subscribing was refused: Unlikely Error (0x0E)"
        #expect("\(finding)" == text)
    }
}
