import BLEStreams
import Testing

@testable import Gateway

/// Lists in lists.
private func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
}

@Suite("A command")
struct CommandTests {
    @Test("is read from JSON")
    func reading() throws {
        let text = #"{ "id": 7, "peripheral": "p", "op": "write", "characteristic": "2A6E", "value": "00Ff" }"#
        let command = try Command(Array(text.utf8))
        #expect(command.id?.text == "7")
        #expect(command.operation == .write)
        #expect(command.request == .write([0, 255], to: BluetoothUUID(0x2A6E), .withResponse))
        let connect = try Command(Array(#"{ "peripheral": "p", "op": "connect" }"#.utf8))
        #expect(connect.request == .connect && connect.id == nil)
        // Beyond what a Double has exactly.
        for id in ["9007199254740993", "-9223372036854775808", "0.5", #""a""#] {
            #expect(try Command(Array(#"{"id":\#(id),"peripheral":"p","op":"connect"}"#.utf8)).id?.text == id)
        }
    }

    @Test(
        "is refused with the reason",
        arguments: [
            ("x", "JSON"), ("[]", "JSON"), (#"{"op":\#(nested(33))}"#, "nested"), (#"{"peripheral":"p"}"#, "'op'"),
            (#"{"peripheral":"p","op":"erase"}"#, "operation"),
            (#"{"id":9223372036854775808,"peripheral":"p","op":"connect"}"#, "returned exactly"),
            (#"{"peripheral":"p","op":"read","characteristic":"?"}"#, "UUID"),
            (#"{"peripheral":"p","op":"write","characteristic":"2A6E","value":"0"}"#, "hexadecimal"),
            (#"{"peripheral":"p","op":"write","characteristic":"2A6E"}"#, "'value'"),
            (#"{"peripheral":"p","op":"update"}"#, "'image'"),
            (#"{"peripheral":"p","op":"update","image":"../../etc/passwd"}"#, "SHA-256"),
            (#"{"peripheral":"p","op":"update","image":"\#(String(repeating: "AB", count: 32))"}"#, "SHA-256"),
        ]
    )
    func refusal(_ text: String, _ cause: String) {
        let error = #expect(throws: Command.Refusal.self) { try Command(Array(text.utf8)) }
        #expect(error?.cause.contains(cause) == true)
    }
}

@Suite("Advertisements")
struct RecentAdvertisementsTests {
    private let address = BluetoothAddress(rawValue: 1, kind: .public)

    @Test("are published once in a window, by address and payload, with the count of those left out")
    func window() {
        var recent = RecentAdvertisements(window: 10)
        #expect(recent.take(address, [1], at: 0) == 0)
        #expect(recent.take(address, [1], at: 9) == nil)
        #expect(recent.take(address, [2], at: 9) == 0)
        #expect(recent.take(BluetoothAddress(rawValue: 2, kind: .public), [1], at: 9) == 0)
        #expect(recent.take(address, [1], at: 10) == 1)
        #expect(recent.take(address, [1], at: 11) == nil)
    }

    @Test("are forgotten when there are too many")
    func bound() {
        var recent = RecentAdvertisements(window: 1e9)
        for number in 0..<20_000 { #expect(recent.take(address, Array("\(number)".utf8), at: Double(number)) == 0) }
        #expect(recent.count <= RecentAdvertisements.limit)
        #expect(recent.take(address, Array("19999".utf8), at: 20_000) == nil)
    }

    @Test("are forgotten if they are of a clock that was years ahead, and not those that come after it was set")
    func clockSetBack() {
        var recent = RecentAdvertisements(window: 10)
        for number in 0..<RecentAdvertisements.limit {
            #expect(recent.take(address, Array("a\(number)".utf8), at: 1e9) == 0)
        }
        for number in 0..<3000 { #expect(recent.take(address, Array("b\(number)".utf8), at: 1) == 0) }
        for number in 0..<3000 { #expect(recent.take(address, Array("b\(number)".utf8), at: 2) == nil) }
    }
}
