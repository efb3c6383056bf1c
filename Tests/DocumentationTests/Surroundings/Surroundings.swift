// What snippets take for granted: the things that a reader has at hand. Compiled together with them, never run.

import BLEDevices
import BLESimulator
import BLEStreams

var air: SimulatedAir { fatalError() }
var time: VirtualTime { fatalError() }
var adapter: SimulatedAdapter { fatalError() }

var central: Central { fatalError() }
var peripheral: Peripheral { fatalError() }
var sensor: Peripheral { fatalError() }
var found: Discovery { fatalError() }
var sensors: [Peripheral] { fatalError() }
var addresses: [BluetoothAddress] { fatalError() }
var link: Link { fatalError() }
var session: Session { fatalError() }
var queue: CommandQueue { fatalError() }
var server: PeripheralServer { fatalError() }
var context: CommandContext { fatalError() }
var advertisement: AdvertisingData { fatalError() }
var image: FirmwareImage { fatalError() }
var key: [UInt8] { fatalError() }

/// What a program keeps of a device's records.
struct RecordLog: Sendable {
    var lastNumber: Int? { nil }
    func append(_ record: DeviceRecord) async throws {}
}
var log: RecordLog { fatalError() }

/// Streams of a program's own.
var beats: BLEStream<HeartRateMeasurement> { fatalError() }
var temperatures: BLEStream<Double> { fatalError() }
var sigterm: BLEStream<Void> { fatalError() }

/// What a program does with what it has received.
func show(_ beats: BLEStream<HeartRateMeasurement>) async throws {}
func record(_ beats: BLEStream<HeartRateMeasurement>) async throws {}
func plot(_ beat: HeartRateMeasurement) {}
func breakLine(for duration: Duration, because reason: (any Error)?) {}

/// What a thermostat has.
struct Heating: Sendable {
    var temperature: Double { get async { 20 } }
    func heat(to target: Double) async {}
    func step() async -> Double { 20 }
}
var heating: Heating { fatalError() }
extension CharacteristicKey where Self == TypedCharacteristic<Double> {
    static var room: Self { fatalError() }
    static var target: Self { fatalError() }
}

/// Characteristics of a maker's own.
extension CharacteristicKey where Self == BluetoothUUID {
    static var control: BluetoothUUID { fatalError() }
    static var key: BluetoothUUID { fatalError() }
    static var led: BluetoothUUID { fatalError() }
    static var mode: BluetoothUUID { fatalError() }
    static var result: BluetoothUUID { fatalError() }
    static var transfer: BluetoothUUID { fatalError() }
    static var trigger: BluetoothUUID { fatalError() }
}
