import BLEDevices
import BLESimulator
import BLEStreams

/// A peripheral of a world: what it has, and what it does by itself.
struct PlannedPeripheral: Sendable, CustomStringConvertible {
    /// What it does beside answering.
    enum Habit: String, Sendable, CaseIterable {
        /// Sends numbers to whoever subscribes.
        case notifies
        /// Sends as many numbers as there is room for, now and then.
        case bursts
        /// Sends numbers, and waits for each to be confirmed.
        case indicates
        /// Moves its services about.
        case changes
        /// Sends a number to each central by itself, and drops what has no room.
        case paces
        /// Begins to serve, leaves, and comes back.
        case restarts
    }

    let number: Int
    let habit: Habit
    let interval: Duration
    let mtu: Int
    let timing: LinkTiming
    let advertisingInterval: Duration
    /// Whether it waits for its adapter by itself; else its program begins anew.
    let resumes: Bool
    /// Whether its firmware can be replaced.
    let isUpdatable: Bool

    init(_ number: Int, seed: UInt64) {
        var chance = Chance(seed, 0x1000 + UInt64(number))
        self.number = number
        habit = chance.any(of: Habit.allCases)
        interval = chance.any(of: [.milliseconds(120), .milliseconds(700), .seconds(3), .seconds(20)])
        mtu = chance.any(of: [23, 64, 185, 247, 517])
        timing = chance.any(of: [.linux, .fast, .linux])
        advertisingInterval = chance.any(of: [.milliseconds(100), .milliseconds(300), .seconds(1)])
        resumes = chance.onceIn(2)
        isUpdatable = chance.onceIn(3)
    }

    var address: BluetoothAddress { BluetoothAddress(rawValue: 0xC0DE_0000_0000 + UInt64(number), kind: .random) }

    var settings: AdapterSettings {
        AdapterSettings(
            advertisingInterval: advertisingInterval,
            linkTiming: timing,
            maximumPDUSize: mtu,
            maximumCentrals: 3
        )
    }

    var description: String {
        "p\(number): \(habit.rawValue), every \(interval), MTU \(mtu), advertises every \(advertisingInterval)"
            + (resumes ? "" : ", begins anew when its adapter was away") + (isUpdatable ? ", can be updated" : "")
    }

    // MARK: - What it offers

    static let service = BluetoothUUID(0xA000)
    static let notifying = BluetoothUUID(0xA001)
    static let indicating = BluetoothUUID(0xA002)
    static let readable = BluetoothUUID(0xA003)
    static let long = BluetoothUUID(0xA004)
    static let secret = BluetoothUUID(0xA005)
    static let inbound = BluetoothUUID(0xA006)
    static let outbound = BluetoothUUID(0xA007)
    static let recordControl = BluetoothUUID(0xA008)
    static let records = BluetoothUUID(0xA009)

    static let longValue = (0..<400).map { UInt8(truncatingIfNeeded: $0) }
    static let secretValue: [UInt8] = [4, 2]

    /// The message that it sends in chunks.
    var message: [UInt8] { (0..<900).map { UInt8(truncatingIfNeeded: $0 % 7 + number) } }

    /// - Parameters:
    ///   - isMoved: whether another service stands in front.
    ///   - receivers: what takes its firmware, where it can be updated.
    func services(isMoved: Bool, _ receivers: FirmwareReceivers?) -> [LocalService] {
        let moved = LocalService(BluetoothUUID(0xB000)) {
            LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([1]))
        }
        let own = LocalService(Self.service) {
            LocalCharacteristic(Self.notifying, [.read, .notify], value: .stored([]))
            LocalCharacteristic(Self.indicating, [.indicate])
            LocalCharacteristic(Self.readable, [.read, .write, .writeWithoutResponse], value: .stored([1, 2, 3]))
            LocalCharacteristic(Self.long, [.read, .write], value: .stored(Self.longValue))
            LocalCharacteristic(Self.secret, [.read], value: .stored(Self.secretValue), access: .encrypted)
            LocalCharacteristic(Self.inbound, [.write, .writeWithoutResponse], value: .dynamic)
            LocalCharacteristic(Self.outbound, [.notify])
            LocalCharacteristic(Self.recordControl, [.write], value: .dynamic)
            LocalCharacteristic(Self.records, [.notify])
        }
        return (isMoved ? [moved, own] : [own]) + [.serialLine()] + (receivers?.services ?? [])
    }

    func local(_ receivers: FirmwareReceivers?) -> LocalPeripheral {
        var local = LocalPeripheral(name: "P\(number)", advertising: [Self.service]) {}
        local.services = services(isMoved: false, receivers)
        if resumes { local.resuming = .exponential() }
        return local
    }
}

/// A value that can be followed from end to end: which peripheral sent it, by which characteristic, and as the how
/// many-th.
struct NumberedValue: Hashable, Sendable {
    enum Channel: UInt8, Sendable {
        case notified = 1
        case indicated
    }

    var peripheral: Int
    var channel: Channel
    var serial: UInt32

    var octets: [UInt8] {
        [0xB1, 0x5E, UInt8(truncatingIfNeeded: peripheral), channel.rawValue]
            + (0..<4).map { UInt8(truncatingIfNeeded: serial >> (8 * UInt32($0))) }
    }

    init(peripheral: Int, channel: Channel, serial: UInt32) {
        self.peripheral = peripheral
        self.channel = channel
        self.serial = serial
    }

    /// `nil` where the octets are none.
    init?(_ octets: some Collection<UInt8>) {
        let octets = Array(octets)
        guard octets.count == 8, octets[0] == 0xB1, octets[1] == 0x5E, let channel = Channel(rawValue: octets[3]) else {
            return nil
        }
        self.init(
            peripheral: Int(octets[2]),
            channel: channel,
            serial: octets[4...].reversed().reduce(0) { $0 << 8 | UInt32($1) }
        )
    }

    static func uuid(of channel: Channel) -> BluetoothUUID {
        channel == .notified ? PlannedPeripheral.notifying : PlannedPeripheral.indicating
    }
}
