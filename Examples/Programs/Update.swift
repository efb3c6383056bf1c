import BLEDevices
import ConsoleOutput
import Synchronization

extension BluetoothUUID {
    /// The service of MCUmgr, which devices on Zephyr have.
    static let mcumgr: BluetoothUUID = "8D53DC1D-1DB7-4CD3-868B-8A527460AA84"
}

/// Updates the firmware of a device, and resumes after a lost link.
///
/// If it is interrupted, run it again: the device knows how much of which image it has, and gets the rest.
func update(on adapter: AdapterChoice, _ words: [String]) async throws {
    guard let file = words.first else { throw Usage("Which file? For example: app_update.bin") }
    let image = try FirmwareImage(file: file)
    try await Central.with(adapter) { central in
        let plain = FirmwareUpdateFlow.PlainProfile.standard.service
        let device = try await central.scan(for: .service(plain), .service(.mcumgr)).timeout(.seconds(10)).first()
        print("Updating \(device.name?.harmless ?? "\(device.address)") with \(image.bytes.count) octets.")
        try await device.peripheral.withQueue { queue in
            try await withThrowingTaskGroup { group in
                group.addTask {
                    let steps = queue.progress.distinct(by: { [$0.phase, $0.fraction.map { "\(Int($0 * 10))" }] })
                    for try await progress in steps { print("  \(progress)") }
                }
                defer { group.cancelAll() }
                try await queue.run(FirmwareUpdateFlow(image))
            }
        }
        print("The device has the new firmware.")
    }
}
