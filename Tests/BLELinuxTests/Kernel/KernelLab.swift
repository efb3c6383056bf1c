import BLEProtocol
import BLERadio
import Glibc
import Testing

@testable import BLELinux

/// The virtual machine in which these tests meet the real kernel: its adapters and its peripherals.
///
/// Source: Tests/KernelLab/lab/kernel_tests.py, which sets the environment.
enum KernelLab {
    static let isHere = variable("BLESTREAMS_KERNEL_LAB") == "1"
    static let absence: Comment = "needs the kernel lab: Tests/KernelLab/run --only kernel-tests"

    /// Why a test in which the peer or the adapter ends a connection is left out on this kernel.
    static let closingFault: Comment = """
        Linux 6.1.192 frees a connection twice when its socket is closed after its end, and says "kernel BUG" \
        (close-after-peer-disconnected, power-off-while-connecting)
        """

    /// The adapter that hears Bumble's peripherals.
    static var central: String { variable("BLESTREAMS_LAB_CENTRAL") ?? "hci0" }

    /// The peripheral to connect to.
    static var near: BluetoothAddress { get throws { try address("BLESTREAMS_LAB_NEAR") } }

    /// A beacon: it can't be connected to.
    static var far: BluetoothAddress { get throws { try address("BLESTREAMS_LAB_FAR") } }

    /// An address that nobody has.
    static let absent = BluetoothAddress(rawValue: 0xC000_0000_0001, kind: .random)

    /// Two adapters that hear each other.
    static var pair: [(name: String, address: BluetoothAddress)] {
        (variable("BLESTREAMS_LAB_PAIR") ?? "").split(separator: ",").compactMap { item in
            let parts = item.split(separator: "=")
            guard parts.count == 2, let address = BluetoothAddress("\(parts[1])/public") else { return nil }
            return (String(parts[0]), address)
        }
    }

    private static func address(_ name: String) throws -> BluetoothAddress {
        try #require(BluetoothAddress("\(variable(name) ?? "")/random"), "\(name) is no address")
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}

extension KernelLab {
    /// Tells the peripherals something, and waits until it is so.
    static func peer(_ command: String) throws { try Peripherals().tell(command) }

    /// Switches an adapter on or off, as bluetoothctl would.
    static func power(_ isOn: Bool, _ adapter: String) async throws {
        let radio = try LinuxRadio(adapter: adapter)
        let management = try #require(radio.management)
        let answer = await withCheckedContinuation { continuation in
            management.submit(ManagementSetPowered(isOn)) { continuation.resume(returning: $0) }
        }
        _ = try answer.get()
    }

    /// Runs without any capability, as the user nobody.
    static func asNobody<Value>(_ body: () async throws -> Value) async throws -> Value {
        try #require(seteuid(65534) == 0)
        defer { seteuid(0) }
        return try await body()
    }
}

extension KernelLab {
    /// Runs on a thread that has lost some capabilities, by their numbers, as do all threads that it starts.
    static func without<Value: Sendable>(
        capabilities: [Int],
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try startThread(named: "unprivileged") {
                    // Version 3 of the structures: two sets of 32 capabilities, each effective, permitted, inheritable.
                    var header: [UInt32] = [0x2008_0522, 0]
                    var sets = [UInt32](repeating: 0, count: 6)
                    capget(&header, &sets)
                    for capability in capabilities {
                        for set in 0..<3 { sets[capability / 32 * 3 + set] &= ~(1 << UInt32(capability % 32)) }
                    }
                    capset(&header, sets)
                    continuation.resume(with: Result { try body() })
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    static let networkAdministration = 12
}

// The headers of these two belong to another package than the C library, which has the functions.
@_silgen_name("capget") @discardableResult
private func capget(_ header: UnsafeMutableRawPointer, _ sets: UnsafeMutableRawPointer) -> Int32
@_silgen_name("capset") @discardableResult
private func capset(_ header: UnsafeMutableRawPointer, _ sets: UnsafeRawPointer) -> Int32

/// The control socket of Tests/KernelLab/peers/peripheral.py.
///
/// It blocks, which a test may: the peripherals are another process, and a time limit stands above all tests.
final class Peripherals {
    private let file: FileDescriptor
    private var unread: [UInt8] = []

    init() throws {
        let path = try #require(getenv("BLESTREAMS_LAB_SOCKET").map { String(cString: $0) })
        let number = try systemCall { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
        file = FileDescriptor(owning: number)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try systemCall { connect(number, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
        _ = try line { $0.hasPrefix("= ok listening") }
    }

    /// Sends a command and waits for its answer.
    func tell(_ command: String) throws {
        try send(Array("\(command)\n".utf8))
        let answer = try line { $0.hasPrefix("= ") }
        try #require(answer.hasPrefix("= ok"), "\(command): \(answer)")
    }

    /// The next line that a test is after; those before it are passed over.
    func line(where isWanted: (String) -> Bool) throws -> String {
        while true {
            while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: unread[..<end], as: UTF8.self)
                unread.removeSubrange(...end)
                if isWanted(line) { return line }
            }
            let octets = try file.read(4096)
            try #require(!octets.isEmpty, "the peripherals closed their control socket")
            unread += octets
        }
    }

    /// The value handle of a characteristic, by the start of its UUID.
    func handle(of uuid: String) throws -> UInt16 {
        try send(Array("tree\n".utf8))
        let tree = try line { $0.hasPrefix("= ok ") }
        // {"handle": 18, "uuid": "b1e50010-…", …}
        let entry = try #require(tree.split(separator: "{").first { $0.contains("\"uuid\": \"\(uuid)") })
        let digits = entry.drop { !$0.isNumber }.prefix { $0.isNumber }
        return try #require(UInt16(digits))
    }

    private func send(_ octets: [UInt8]) throws { try file.send(octets) }
}
