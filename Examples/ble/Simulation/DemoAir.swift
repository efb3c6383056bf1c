import BLESimulator
import BLEStreams
import Glibc

/// The simulated radio behind `--simulated`: an adapter, and devices for trying the commands.
///
/// The devices run as long as the command. What is written to them is lost afterwards, unless they have a folder.
enum DemoAir {
    /// Runs the devices, and the closure with the adapter that hears them.
    ///
    /// - Parameters:
    ///   - folder: where the devices keep their bonds and values; `nil`: nowhere.
    ///   - visitor: a central that visits what the command serves.
    static func run(
        in folder: String? = nil,
        visitor: (any DemoVisitor)? = nil,
        _ body: (AdapterChoice) async throws -> Void
    ) async throws {
        let air = SimulatedAir()
        // As fast as a real radio can be, with the supervision timeout that the library sets.
        var timing = LinkTiming.fast
        timing.supervisionTimeout = .seconds(5)
        let adapter = air.adapter(name: "simulated", settings: AdapterSettings(linkTiming: timing))
        if let folder, mkdir(folder, 0o700) != 0, errno != EEXIST { throw BLEError.file("make", folder, errno) }
        let devices = try devices(in: folder)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (device, distance) in devices {
                let settings = AdapterSettings(pairing: device.pairing)
                let radio = air.adapter(name: device.peripheral.name, address: device.address, settings: settings)
                air.setSignal(.metres(distance, jitter: 2), between: adapter, and: radio)
                let store = folder.map { PeerStore(folder: "\($0)/\(device.address.fileName)", warning: { _ in }) }
                group.addTask {
                    // Trouble inside the devices doesn't concern whoever tries the commands.
                    try await device.peripheral.run(on: .radio(radio), store: store, warning: { _ in }) { server in
                        try await device.live(server)
                    }
                }
            }
            if let visitor {
                let radio = air.adapter(name: "visitor", settings: AdapterSettings(linkTiming: .fast))
                group.addTask {
                    try await visitor.live(try await Central.open(.radio(radio)).peripheral(adapter.address))
                }
            }
            do {
                try await body(.radio(adapter))
            } catch {
                try await leave(&group, devices, folder)
                throw error
            }
            try await leave(&group, devices, folder)
        }
    }

    /// Ends the devices; those with a folder first write what they remember.
    private static func leave(
        _ group: inout ThrowingTaskGroup<Void, any Error>,
        _ devices: [(any DemoDevice, Double)],
        _ folder: String?
    ) async throws {
        group.cancelAll()
        guard folder != nil else { return }
        while await group.nextResult() != nil {}
        for (device, _) in devices { try device.save() }
    }

    private static func devices(in folder: String?) throws -> [(any DemoDevice, Double)] {
        [
            (DemoHeartRate(), 1), (DemoTransfer(), 3), (try DemoValues.restored(in: folder), 5), (DemoTrouble(), 12),
            (DemoUpdate(), 2),
        ]
    }
}

/// A simulated central, which visits what the command serves.
protocol DemoVisitor: Sendable {
    /// What it does until it is cancelled.
    func live(_ peripheral: Peripheral) async throws
}

/// A simulated device: its address, its services, and what it does.
protocol DemoDevice: Sendable {
    /// Its address.
    var address: BluetoothAddress { get }

    /// The services that it offers.
    var peripheral: LocalPeripheral { get }

    /// How it behaves when it is paired with.
    var pairing: PairingManner { get }

    /// What it does until it is cancelled.
    func live(_ server: PeripheralServer) async throws

    /// Saves its lasting state to its file, once it has ended.
    func save() throws
}

extension DemoDevice {
    /// Just Works.
    var pairing: PairingManner { .justWorks }

    /// Saves nothing.
    func save() throws {}
}

extension BluetoothAddress {
    /// The address as a file name.
    fileprivate var fileName: String { "\(self)".replacing(":", with: "-") }

    /// The addresses of the demonstration devices differ only in the last octet.
    static func demo(_ last: UInt8, _ kind: Kind = .random) -> BluetoothAddress {
        BluetoothAddress(rawValue: 0xC4F2_171A_1D00 | UInt64(last), kind: kind)
    }
}

extension CharacteristicKey where Self == BluetoothUUID {
    /// The UUIDs of the demonstration devices differ only in one number; 1 and 2 are those of the example Transfer.
    static func demo(_ number: UInt16) -> BluetoothUUID {
        BluetoothUUID(high: 0x7A1C_0000_5F2B_4C8E | UInt64(number) << 32, low: 0x9D3A_6B70_E14F_2C55)
    }
}
