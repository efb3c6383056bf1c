import BLEStreams
import Testing

@testable import ble

/// What clients send and are sent, as aioesphomeapi 46.23.0 encodes it (its generated Protocol Buffers classes).
@Suite struct ProxyMessageTests {
    private static let address: UInt64 = 0xC4F2_171A_1DBB
    private static let sent = "08bbbbe8b8a19e31"

    @Test(
        arguments: [
            (
                1, "0a18486f6d6520417373697374616e7420323032362e31312e311001180e",
                .hello(client: "Home Assistant 2026.11.1")
            ),
            (66, "0801", .subscribeAdvertisements),
            (87, "", .unsubscribeAdvertisements),
            (127, "0801", .setScanMode(.active)),
            (127, "", .setScanMode(.passive)),
            (68, sent + "100518012001", .device(.connect, address, kind: .random)),
            (68, sent + "10041801", .device(.connectWithCache, address, kind: .public)),
            (68, sent + "1001", .device(.disconnect, address, kind: .random)),
            (70, sent, .attribute(.services, address)),
            (73, sent + "1013", .attribute(.read(0x13), address)),
            (76, sent + "1011", .attribute(.read(0x11), address)),
            (75, sent + "1093021801220200ff", .attribute(.write(0x113, [0x00, 0xFF], isAnswered: true), address)),
            (75, sent + "109302", .attribute(.write(0x113, [], isAnswered: false), address)),
            (77, sent + "10111a020100", .attribute(.writeDescriptor(0x11, [1, 0]), address)),
            (78, sent + "10101801", .attribute(.notify(0x10, isOn: true), address)),
            (78, sent + "1010", .attribute(.notify(0x10, isOn: false), address)),
            (145, sent + "1006180c289003", .attribute(.setParameters(6...12, latency: 0, timeout: 400), address)),
        ] as [(UInt64, String, ProxyRequest)]
    )
    func `requests are understood`(_ type: UInt64, _ text: String, _ request: ProxyRequest) throws {
        #expect(try ProxyRequest(type: type, octets(text)[...]) == request)
    }

    @Test func `a request that a proxy has nothing to do with is passed over`() throws {
        #expect(try ProxyRequest(type: 30, octets("0d78563412" + "1001")[...]) == nil)
        #expect(try ProxyRequest(type: 68, octets(Self.sent + "1063")[...]) == nil)
    }

    @Test(arguments: ["08", "0a05aa", "08ffffffffffffffffffff01", "0b", "09aabb", "0a" + "ffffffffffffffffff01"])
    func `octets that are no message are refused`(_ text: String) throws {
        #expect(throws: ProxyViolation.self) { try ProxyRequest(type: 1, octets(text)[...]) }
    }

    @Test func `a handle of more than 16 bits is refused`() throws {
        #expect(throws: ProxyViolation.self) { try ProxyRequest(type: 73, octets(Self.sent + "10808004")[...]) }
    }

    @Test func `answers are what clients expect`() throws {
        let address = Self.address
        let heartRate = GATTService(
            uuid: .init(0x180D),
            handle: 14,
            endHandle: 17,
            characteristics: [
                Characteristic(
                    uuid: .init(0x2A37),
                    properties: .notify,
                    handle: 15,
                    valueHandle: 16,
                    endHandle: 17,
                    descriptors: [Descriptor(uuid: .init(0x2902), handle: 17)]
                )
            ]
        )
        let answers: [(ProxyResponse, UInt64, String)] = [
            (.connection(address, mtu: 517), 69, "08bbbbe8b8a19e311001188504"),
            (.noConnection(address, error: 0x3E), 69, "08bbbbe8b8a19e31203e"),
            (.failed(address, 0x13, error: -1), 82, "08bbbbe8b8a19e31101318ffffffffffffffffff01"),
            (.connectionsFree(limit: 3, used: [address]), 81, "080210031a07bbbbe8b8a19e31"),
            (.scanning(.active, isRunning: true), 126, "080210011801"),
            (
                .service(address, heartRate), 71,
                "08bbbbe8b8a19e3112450a1180a08080d08106fbe9ecfc859080808001100e1a2e0a1180a08080f0c60afbe9ecfc859080"
                    + "8080011010181022150a1180a08080a0a00afbe9ecfc8590808080011011"
            ),
        ]
        for (answer, type, text) in answers {
            #expect(answer.type == type)
            // One connection of three is in use: the client's own arithmetic.
            #expect(answer.octets == octets(text), "\(answer)")
        }
    }
}

/// The octets of hexadecimal digits.
func octets(_ text: String) -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}
