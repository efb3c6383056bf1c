import BLEProtocol
import Testing

@Suite struct ATTServerErrorTests {
    @Test(
        arguments: [
            "02", "0217", "02170000", "04 0100", "04 0100 ffff 00", "06 0100 ffff 00", "08 0100 ffff",
            "08 0100 ffff 00",
            "08 0100 ffff 00280000", "08 0100 ffff 0028 00", "0a", "0a 03", "0a 0300 00", "0c 0300", "0c 0300 00",
            "0c 0300 0000 00", "0e", "0e 0300", "0e 0300 05", "0e 0300 0500 05", "10 0100 ffff", "10 0100 ffff 002800",
            "12", "12 07", "16", "16 0700", "16 0700 00", "18", "18 0000", "18 02", "18 ff", "20", "20 0300",
            "20 0300 0500 05",
        ]
    )
    func `a malformed request is an invalid PDU without a handle`(pdu: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends(pdu) == ["01" + pdu.prefix(2) + "000004"])
        #expect(client.output.close == nil)
    }

    @Test func `a request longer than the MTU is an invalid PDU`() {
        var client = ServedClient.ofSample()
        let value = String(repeating: "00", count: 21)
        #expect(client.sends("12 1400 " + value) == ["0112000004"])
        client.exchangesMTU(24)
        #expect(client.sends("12 1400 " + value) == ["13"])
    }

    @Test(arguments: ["00", "14", "15", "1a", "1c", "22", "24", "3f", "80", "bf", "92"])
    func `an unknown request is not supported, without a handle`(opcode: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends(opcode + "0300") == ["01\(opcode)000006"])
    }

    @Test(arguments: [
        "01 0a 0300 01", "03 1700", "0b", "13", "1b 0300 00", "1d 0300 00", "23 0300 0100 00", "1e", "1e00",
    ])
    func `what is not for a server, and a confirmation of nothing, is ignored with a note`(pdu: String) {
        var client = ServedClient.ofSample()
        #expect(client.sends(pdu).isEmpty)
        #expect(client.output.notes.count == 1)
        #expect(client.output.confirmed.isEmpty)
        #expect(client.output.close == nil)
        #expect(client.sends("0a 0300") == ["0b41636d65"])
    }

    @Test func `an empty PDU is ignored with a note`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("").isEmpty)
        #expect(client.output.notes.count == 1)
    }

    @Test(arguments: ["0a %", "0c % 0000", "0e % 0300", "12 % 00", "16 % 0000 00", "20 % 0300"])
    func `a handle that does not exist is invalid and told`(pdu: String) {
        for handle in ["0000", "1500", "ffff"] {
            var client = ServedClient.ofSample()
            let request = pdu.replacing("%", with: handle)
            #expect(client.sends(request) == ["01" + pdu.prefix(2) + handle + "01"])
        }
    }

    @Test func `a direction that is not permitted is told with the handle`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("0a 1400") == ["010a140002"])
        #expect(client.sends("0c 1400 0000") == ["010c140002"])
        #expect(client.sends("12 0300 00") == ["0112030003"])
        #expect(client.sends("12 0100 00") == ["0112010003"])
        #expect(client.sends("12 0200 00") == ["0112020003"])
        #expect(client.sends("16 0300 0000 00") == ["0116030003"])
        #expect(client.sends("0a 0c00") == ["010a0c0002"])
    }

    @Test func `the link's security is checked in order: authentication, encryption, key size`() {
        func error(_ pdu: String, _ security: ATTSecurity) -> [String] {
            var client = ServedClient.ofSample()
            client.security = security
            return client.sends(pdu)
        }
        let encrypted = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)
        // Authenticated with 16 octets: 0x12.
        #expect(error("0a 1200", .none) == ["010a120005"])
        #expect(error("12 1200 00", .none) == ["0112120005"])
        #expect(error("16 1200 0000 00", .none) == ["0116120005"])
        #expect(error("0a 1200", encrypted) == ["010a120005"])
        #expect(error("0a 1200", ATTSecurity(isEncrypted: false, isAuthenticated: true, keySize: 0)) == ["010a120005"])
        #expect(error("0a 1200", ATTSecurity(isEncrypted: true, isAuthenticated: true, keySize: 15)) == ["010a12000c"])
        #expect(error("0a 1200", ATTSecurity(isEncrypted: true, isAuthenticated: true, keySize: 16)) == ["0b09"])
        // Encrypted: the configuration at 0x10; reading it is always possible.
        #expect(error("12 1000 0200", .none) == ["0112100005"])
        #expect(error("0a 1000", .none) == ["0b0000"])
        #expect(
            error("12 1000 0200", ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 6)) == ["011210000c"]
        )
        #expect(error("12 1000 0200", encrypted) == ["13"])
    }

    @Test func `without a key the client must authenticate, with one it must encrypt`() {
        let bonded = ATTSecurity(isEncrypted: false, isAuthenticated: false, keySize: 0, hasKey: true)
        for (pdu, handle) in [("0a 1200", "1200"), ("12 1200 00", "1200"), ("12 1000 0200", "1000")] {
            var client = ServedClient.ofSample()
            #expect(client.sends(pdu) == ["01" + pdu.prefix(2) + handle + "05"])
            client.security = bonded
            #expect(client.sends(pdu) == ["01" + pdu.prefix(2) + handle + "0f"])
        }
        // The key is in use, and isn't good enough.
        var client = ServedClient.ofSample()
        client.security = ATTSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16, hasKey: true)
        #expect(client.sends("0a 1200") == ["010a120005"])
    }

    @Test func `what the program refuses, or does not answer, names its handle`() {
        for error in [ATTError.unlikely, .insufficientResources, .valueNotAllowed] {
            var client = ServedClient.ofSample()
            let code = WireText.text([error.rawValue])
            #expect(client.sends("0a 0a00").isEmpty)
            #expect(client.programGives(.failure(error)) == ["010a0a00" + code])
            #expect(client.sends("12 0a00 01").isEmpty)
            #expect(client.programTakes(.failure(error)) == ["01120a00" + code])
        }
    }

    @Test func `signed writes alone permit no write without a signature`() {
        let permissions = AttributePermissions([.read, .authenticatedSignedWrites])
        #expect(permissions.write == nil && permissions.read == .open)
        var client = ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read, .authenticatedSignedWrites], value: .stored([1]))
            }
        ])
        #expect(client.sends("12 0300 02") == ["0112030003"])
        #expect(client.sends("52 0300 02").isEmpty)
        #expect(client.sends("0a 0300") == ["0b01"])
    }

    @Test func `direction comes before security, security before offset and length`() {
        var client = ServedClient.ofSample()
        #expect(client.sends("0c 1200 ff00") == ["010c120005"])
        #expect(client.sends("12 1000 00") == ["0112100005"])
        #expect(client.sends("0c 1400 ff00") == ["010c140002"])
    }

    @Test func `a client that the program has not authorized is refused where that is needed`() {
        var requirement = AccessRequirement.open
        requirement.needsAuthorization = true
        var client = ServedClient([
            LocalService(BluetoothUUID(0x1815)) {
                LocalCharacteristic(BluetoothUUID(0x2A56), [.read, .write], value: .stored([1]), access: requirement)
            }
        ])
        #expect(client.sends("0a 0300") == ["010a030008"])
        #expect(client.sends("12 0300 02") == ["0112030008"])
        client.server.setAuthorized(true)
        #expect(client.sends("0a 0300") == ["0b01"])
    }
}
