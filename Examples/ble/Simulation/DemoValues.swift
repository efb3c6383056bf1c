import BLEStreams
import Glibc
import Synchronization

/// Values to read and write: short and long ones, a read-only one, and one that requires encryption.
///
/// With a folder, written values last from command to command.
final class DemoValues: DemoDevice {
    // A public address, unlike the others.
    let address = BluetoothAddress.demo(0xBD, .public)
    let peripheral: LocalPeripheral

    /// Where its file is.
    private let folder: String?
    /// The values when the device began.
    private let first: [UInt16: [UInt8]]
    /// The values when the device ended.
    private let last = Mutex<[UInt16: [UInt8]]>([:])

    /// The values before anybody writes.
    private static let values: [UInt16: [UInt8]] = [
        0x11: [1, 2, 3, 4, 5], 0x12: (0..<400).map { UInt8($0 & 0xFF) }, 0x14: Array("secret".utf8),
    ]

    /// The device, with the values that were saved in a folder.
    static func restored(in folder: String?) throws -> DemoValues {
        guard let folder else { return DemoValues() }
        return DemoValues(folder: folder, written: try read(file(in: folder)))
    }

    /// Its file: a line for each value, with its number and its octets in hexadecimal.
    private static func file(in folder: String) -> String { "\(folder)/values" }

    init(folder: String? = nil, written: [UInt16: [UInt8]] = [:]) {
        self.folder = folder
        let values = Self.values.merging(written) { $1 }
        first = values
        func stored(_ number: UInt16) -> [UInt8] { values[number] ?? [] }
        peripheral = LocalPeripheral(name: "Demo values") {
            LocalService(.demo(0x10)) {
                LocalCharacteristic(
                    .demo(0x11),
                    [.read, .write, .writeWithoutResponse],
                    value: .stored(stored(0x11))
                ) {
                    LocalDescriptor.userDescription("A short value")
                }
                LocalCharacteristic(.demo(0x12), [.read, .write], value: .stored(stored(0x12))) {
                    LocalDescriptor.userDescription("A long value")
                }
                LocalCharacteristic(.demo(0x13), [.read], value: .text("read me"))
                LocalCharacteristic(.demo(0x14), [.read, .write], value: .stored(stored(0x14)), access: .encrypted)
                LocalCharacteristic(.demo(0x15), [.indicate])
            }
        }
    }

    /// Sends indications that count up, each after the previous one was confirmed.
    func live(_ server: PeripheralServer) async throws {
        defer {
            let values = Self.values.keys.map { ($0, server.value(of: .demo($0)) ?? []) }
            last.withLock { $0 = Dictionary(uniqueKeysWithValues: values) }
        }
        for try await change in server.subscriptions(of: .demo(0x15)) where change.isSubscribed {
            do {
                for number in UInt8.min...UInt8.max {
                    try await server.indicate([number], of: .demo(0x15), to: change.central)
                }
            } catch is BLEError {
                // The central has left; wait for the next one.
            }
        }
    }

    /// Saves the values that were written. The others may have been written by another command meanwhile, which has
    /// saved them.
    func save() throws {
        let written = last.withLock { $0 }.filter { first[$0.key] != $0.value }
        guard let folder, !written.isEmpty else { return }
        let file = Self.file(in: folder)
        try Self.alone(in: folder) {
            let values = try Self.read(file).merging(written) { $1 }
            let lines = values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.hexText)\n" }
            try MessageFile(file).commit(Array(lines.joined().utf8))
        }
    }

    /// Runs the closure while no other command does so in the folder. Where the file system has no locks, commands that
    /// end at the same time may take back what another one has written.
    private static func alone(in folder: String, _ body: () throws -> Void) throws {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BLEError.file("open", folder, errno) }
        // Closing it releases the lock.
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0, errno == EINTR {}
        try body()
    }

    /// The saved values; empty if there is no file yet.
    private static func read(_ file: String) throws -> [UInt16: [UInt8]] {
        let octets: [UInt8]
        do {
            octets = try readFile(file)
        } catch let error as BLEError where error.systemError == ENOENT {
            return [:]
        }
        var values: [UInt16: [UInt8]] = [:]
        let text = String(decoding: octets, as: UTF8.self)
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (index, line) in lines.enumerated() where !line.isEmpty {
            let parts = line.split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 2, let number = UInt16(parts[0]), let value = [UInt8](hex: String(parts[1])),
                value.count <= ValueSource.limit
            else {
                throw BLEError(
                    .malformedValue,
                    operation: "read",
                    object: file,
                    cause: "line \(index + 1) is not the number of a value and its octets in hexadecimal, at most "
                        + "\(ValueSource.limit)",
                    remedy: "Correct the line, or remove the file: the device then has its first values again."
                )
            }
            values[number] = value
        }
        return values
    }
}
