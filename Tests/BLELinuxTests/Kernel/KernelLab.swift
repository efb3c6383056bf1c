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
    static func peer(_ command: String) throws {
        let path = try #require(variable("BLESTREAMS_LAB_SOCKET"))
        let number = try systemCall { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }
        let file = FileDescriptor(owning: number)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        try withUnsafePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = try systemCall { connect(number, pointer, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
        try file.send(Array("\(command)\n".utf8))
        var answers = 0
        var text = ""
        while answers < 2 {
            let octets = try file.read(4096)
            try #require(!octets.isEmpty, "the peripheral closed its control socket")
            text += String(decoding: octets, as: UTF8.self)
            answers = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                .count { $0.hasPrefix("= ") }
        }
        let answer = text.split(separator: "\n").last { $0.hasPrefix("= ") }
        try #require(answer?.hasPrefix("= ok") == true, "\(command): \(text)")
    }
}
