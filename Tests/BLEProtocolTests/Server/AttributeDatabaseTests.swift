import BLEProtocol
import Testing

@Suite struct AttributeDatabaseTests {
    /// One line for each attribute: handle, type, value and, where it begins a group, the group's end.
    private func lines(_ database: AttributeDatabase) -> [String] {
        database.attributes.map { attribute in
            var line = "\(attribute.handle) \(attribute.type) "
            switch attribute.content {
            case .constant(let value), .stored(let value): line += WireText.text(value)
            case .dynamic: line += "dynamic"
            case .clientFeatures: line += "client features"
            case .databaseHash: line += "hash"
            case .clientConfiguration(let characteristic): line += "of \(characteristic)"
            }
            return attribute.groupEnd == attribute.handle ? line : line + " ..\(attribute.groupEnd)"
        }
    }

    @Test func `handles follow the description, from 1 on`() {
        let database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0x180D)) {
                LocalCharacteristic(BluetoothUUID(0x2A37), [.notify])
                LocalCharacteristic(BluetoothUUID(0x2A38), [.read], value: .stored([1]))
            },
            LocalService(BluetoothUUID(0x180F)) {
                LocalCharacteristic(BluetoothUUID(0x2A19), [.read, .indicate], value: .dynamic)
            },
        ])
        #expect(
            lines(database) == [
                "1 2800 0d18 ..6",
                "2 2803 100300372a ..4",
                "3 2A37 ",
                "4 2902 of 3",
                "5 2803 020600382a ..6",
                "6 2A38 01",
                "7 2800 0f18 ..10",
                "8 2803 220900192a ..10",
                "9 2A19 dynamic",
                "10 2902 of 9",
            ]
        )
    }

    @Test func `includes come before characteristics and may name a later service`() {
        let long: BluetoothUUID = "01234567-89AB-CDEF-0123-456789ABCDEF"
        let database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0x1812), includes: ["180F", "vendor"]) {
                LocalCharacteristic(BluetoothUUID(0x2A4A), [.read])
            },
            LocalService(BluetoothUUID(0x180F), isPrimary: false) {
                LocalCharacteristic(BluetoothUUID(0x2A19), [.read])
            },
            LocalService(long, id: "vendor"),
        ])
        #expect(
            lines(database) == [
                "1 2800 1218 ..5",
                "2 2802 060008000f18",
                "3 2802 09000900",
                "4 2803 0205004a2a ..5",
                "5 2A4A ",
                "6 2801 0f18 ..8",
                "7 2803 020800192a ..8",
                "8 2A19 ",
                "9 2800 efcdab8967452301efcdab8967452301",
            ]
        )
    }

    @Test func `extended properties, configuration and described descriptors follow the value in this order`() {
        var characteristic = LocalCharacteristic(BluetoothUUID(0x2A58), [.read, .write, .notify]) {
            LocalDescriptor.userDescription("Level", writing: .open)
            LocalDescriptor.presentationFormat(0x06, exponent: -2, unit: 0x272F, description: 0x0101)
        }
        characteristic.extendedProperties = [.reliableWrite]
        let database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0x1815), characteristics: [characteristic])
        ])
        #expect(
            lines(database) == [
                "1 2800 1518 ..7",
                "2 2803 9a0300582a ..7",
                "3 2A58 ",
                "4 2900 0300",
                "5 2902 of 3",
                "6 2901 4c6576656c",
                "7 2904 06fe2f27010101",
            ]
        )
    }

    @Test func `a property bit without extended properties is not declared`() {
        let database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A58), [.read, .extendedProperties])
            }
        ])
        #expect(lines(database) == ["1 2800 1518 ..3", "2 2803 020300582a ..3", "3 2A58 "])
    }

    @Test func `the mandatory services come in front where they are absent`() {
        let services = [LocalService(BluetoothUUID(0x180F))].addingMandatoryServices(name: "Pi", appearance: 0x0340)
        #expect(
            lines(AttributeDatabase(services: services)) == [
                "1 2800 0018 ..5",
                "2 2803 020300002a ..3",
                "3 2A00 5069",
                "4 2803 020500012a ..5",
                "5 2A01 4003",
                "6 2800 0118 ..13",
                "7 2803 200800052a ..9",
                "8 2A05 ",
                "9 2902 of 8",
                "10 2803 0a0b00292b ..11",
                "11 2B29 client features",
                "12 2803 020d002a2b ..13",
                "13 2B2A hash",
                "14 2800 0f18",
            ]
        )
        let own = [LocalService(BluetoothUUID(0x1801)), LocalService(BluetoothUUID(0x1800))]
        #expect(own.addingMandatoryServices(name: "Pi", appearance: 0) == own)
    }

    @Test func `permissions follow the properties unless they are given`() {
        let plain = LocalCharacteristic(BluetoothUUID(0x2A58), [.read, .writeWithoutResponse])
        #expect(plain.permissions == AttributePermissions(read: .open, write: .open))
        let mute = LocalCharacteristic(BluetoothUUID(0x2A58), [.notify])
        #expect(mute.permissions == AttributePermissions())
        let secret = LocalCharacteristic(BluetoothUUID(0x2A58), [.read, .notify], access: .authenticated)
        #expect(secret.permissions == AttributePermissions(read: .authenticated))
        let database = AttributeDatabase(services: [LocalService(BluetoothUUID(0x1815), characteristics: [secret])])
        #expect(database.attribute(at: 4)?.permissions == AttributePermissions(read: .open, write: .authenticated))
    }

    @Test func `characteristics are found by the name of their description`() {
        let database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read], id: "left")
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read, .notify], id: "right")
            },
            LocalService(BluetoothUUID(0x180F)) { LocalCharacteristic(BluetoothUUID(0x2A19), [.read]) },
            LocalService(BluetoothUUID(0x180F)) { LocalCharacteristic(BluetoothUUID(0x2A19), [.read]) },
        ])
        #expect(database.valueHandle(of: "left") == 3)
        #expect(database.valueHandle(of: "right") == 5)
        #expect(database.characteristic(at: 5)?.configuration == 6)
        #expect(database.characteristics.filter { $0.id == "2A19" }.map(\.valueHandle) == [9, 12])
        #expect(database.valueHandle(of: "middle") == nil)
    }

    @Test func `attributes are looked up across gaps, up to the last handle`() {
        let handles: [UInt16] = [0xFFFF, 1, 0x100, 2]
        let database = AttributeDatabase(
            attributes: handles.map {
                Attribute(handle: $0, type: BluetoothUUID(0x2A00), permissions: .readOnly, content: .stored([]))
            },
            characteristics: []
        )
        #expect(database.attributes(from: 2, through: 0xFFFE).map(\.handle) == [2, 0x100])
        #expect(database.attributes(from: 0x101, through: 0xFFFF).map(\.handle) == [0xFFFF])
        #expect(database.attributes(from: 3, through: 0xFF).isEmpty)
        #expect(database.attribute(at: 0xFFFF)?.handle == 0xFFFF)
        #expect(database.attribute(at: 3) == nil)
    }

    @Test func `the program replaces stored values only, and within their length`() {
        var database = AttributeDatabase(services: [
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read], maximumLength: 2)
                LocalCharacteristic(
                    BluetoothUUID(0x2A57),
                    [.read],
                    value: .stored([0]),
                    maximumLength: 1,
                    hasFixedLength: true
                )
                LocalCharacteristic(BluetoothUUID(0x2A58), [.read], value: .dynamic)
            }
        ])
        let taken: [(value: [UInt8], handle: UInt16, isTaken: Bool)] = [
            ([1, 2], 3, true), ([1, 2, 3], 3, false), ([], 5, false), ([1], 7, false), ([1], 8, false),
            ([0, 0], 2, false),
        ]
        for (value, handle, isTaken) in taken {
            let result = database.store(value, at: handle)
            #expect(result == isTaken, "\(value) at \(handle)")
        }
        #expect(database.value(at: 3) == [1, 2])
        #expect(database.value(at: 7) == nil)
    }

    @Test func `a description that can't be laid out is told apart`() {
        func fault(_ characteristic: LocalCharacteristic) -> String? {
            AttributeDatabase.fault(in: [LocalService(BluetoothUUID(0x1815), characteristics: [characteristic])])
        }
        let uuid = BluetoothUUID(0x2A56)
        #expect(fault(LocalCharacteristic(uuid, [.read])) == nil)
        #expect(
            fault(LocalCharacteristic(uuid, [.read], value: .stored([1, 2]), maximumLength: 1))
                == "characteristic 2A56 of service 1815 has a value of 2 octets, longer than its maximum length of 1"
        )
        #expect(fault(LocalCharacteristic(uuid, [.read], maximumLength: 513)) != nil)
        #expect(fault(LocalCharacteristic(uuid, [.read], maximumLength: 4, hasFixedLength: true)) != nil)
        #expect(
            fault(
                LocalCharacteristic(uuid, [.notify]) { LocalDescriptor(BluetoothUUID(0x2902), value: .stored([0, 0])) }
            ) != nil
        )
        let selfish = LocalService(BluetoothUUID(0x1815), includes: ["1815"])
        let dangling = LocalService(BluetoothUUID(0x1815), includes: ["180F"])
        #expect(AttributeDatabase.fault(in: [selfish]) != nil)
        #expect(AttributeDatabase.fault(in: [dangling]) != nil)
        let crowd = [LocalService](repeating: LocalService(BluetoothUUID(0x180F)), count: 65536)
        #expect(AttributeDatabase.fault(in: crowd) != nil)
        #expect(AttributeDatabase.fault(in: crowd.dropLast()) == nil)
        #expect(AttributeDatabase(services: crowd.dropLast()).attributes.last?.handle == 0xFFFF)
    }
}
