import BLEStreams
import Foundation
import Testing

/// Whether a folder is the one in which bluetoothd keeps its bonds.
@Suite(.timeLimit(.minutes(10))) struct BluetoothdFolderTests {
    @Test func `a folder that is not bluetoothd's is an error, and an empty one has no bonds`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "bluetoothd-\(UUID())").path
        let adapter = "\(folder)/bluetooth/00:AA:01:01:00:01"
        let device = "\(adapter)/C4:F2:17:1A:1D:BB"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: "\(folder)/new/mesh", withIntermediateDirectories: true)
        #expect(try Bond.importedFromBluetoothd(in: "\(folder)/new").isEmpty)
        #expect(try Bond.importedFromBluetoothd(in: "\(folder)/new/mesh").isEmpty)
        // As where a package keeps the empty folder, or where it is a file system of its own.
        try Data().write(to: URL(filePath: "\(folder)/new/.keep_net-wireless_bluez-0"))
        try FileManager.default.createDirectory(atPath: "\(folder)/new/lost+found", withIntermediateDirectories: true)
        #expect(try Bond.importedFromBluetoothd(in: "\(folder)/new").isEmpty)
        try FileManager.default.createDirectory(atPath: device, withIntermediateDirectories: true)
        try Data(("[General]\nAddressType=static\n[LongTermKey]\nKey=00112233445566778899AABBCCDDEEFF\n").utf8)
            .write(to: URL(filePath: "\(device)/info"))
        #expect(try Bond.importedFromBluetoothd(in: "\(folder)/bluetooth").count == 1)
        // One too high, one too low, and two too low.
        for wrong in [folder, adapter, device] {
            let error = #expect(throws: BLEError.self) { try Bond.importedFromBluetoothd(in: wrong) }
            #expect(error?.code == .notFound && error?.object == wrong && error?.remedy.isEmpty == false)
        }
    }
}
