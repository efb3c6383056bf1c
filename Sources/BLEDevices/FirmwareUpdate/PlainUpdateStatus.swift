public import BLEProtocol

extension FirmwareUpdateFlow {
    /// The plain update protocol on air: one service, three characteristics.
    ///
    /// | characteristic | properties | octets, numbers least significant octet first |
    /// |---|---|---|
    /// | status | read, notify | ``PlainUpdateStatus``: 20 octets |
    /// | control | write | begin: `01`, size (4), model (2), SHA-256 (32); give up: `02` |
    /// | data | write, write without response | the next octets of the image |
    ///
    /// The device notifies its status when it has begun, whenever it grants more room, and at the end. It keeps what it has
    /// when the link is lost, and goes on where it was when the same image comes again.
    public struct PlainProfile: Hashable, Sendable {
        /// The service.
        public var service: BluetoothUUID
        /// Tells how far the device is.
        public var status: BluetoothUUID
        /// Begins and gives up.
        public var control: BluetoothUUID
        /// Takes the image.
        public var data: BluetoothUUID

        /// Names the UUIDs of a device that speaks the protocol under others.
        public init(service: BluetoothUUID, status: BluetoothUUID, control: BluetoothUUID, data: BluetoothUUID) {
            self.service = service
            self.status = status
            self.control = control
            self.data = data
        }

        /// The UUIDs of this package.
        public static let standard = FirmwareUpdateFlow.PlainProfile(
            service: uuid(0),
            status: uuid(1),
            control: uuid(2),
            data: uuid(3)
        )

        private static func uuid(_ number: UInt64) -> BluetoothUUID {
            BluetoothUUID(high: 0x5D1F_0000_33C2_4E5B | number << 32, low: 0xA4C6_9E07_2B81_D3F5)
        }
    }
}

/// What a device says of its update.
public struct PlainUpdateStatus: Hashable, Sendable {
    /// How far it is.
    public enum State: UInt8, Hashable, Sendable {
        /// It waits for an image.
        case idle = 0
        /// It takes one.
        case receiving = 1
        /// It has one, whole and verified.
        case complete = 2
        /// It could not take the last one; see ``PlainUpdateStatus/failure``.
        case failed = 3
    }

    /// Why it could not take an image.
    public struct Failure: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8
        /// Makes a failure from its octet.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// There was none.
        public static let none = Failure(rawValue: 0)
        /// It is too large.
        public static let tooLarge = Failure(rawValue: 1)
        /// It is for another model.
        public static let wrongModel = Failure(rawValue: 2)
        /// Its octets don't have the hash that was announced.
        public static let wrongHash = Failure(rawValue: 3)
        /// It could not be stored.
        public static let storage = Failure(rawValue: 4)
    }

    /// How far it is.
    public var state: State
    /// Why the last image was not taken.
    public var failure: Failure
    /// Which model the device is.
    public var model: UInt16
    /// The largest image that it takes, in octets.
    public var capacity: UInt32
    /// The first four octets of the SHA-256 of the image that it takes or has; zeros without one.
    public var image: [UInt8]
    /// The octet of the image that it wants next: it has all before.
    public var offset: UInt32
    /// How many octets from there on may be sent before the next status.
    public var window: UInt32

    /// Describes a status.
    public init(
        state: State,
        failure: Failure = .none,
        model: UInt16,
        capacity: UInt32,
        image: [UInt8] = [0, 0, 0, 0],
        offset: UInt32 = 0,
        window: UInt32 = 0
    ) {
        self.state = state
        self.failure = failure
        self.model = model
        self.capacity = capacity
        self.image = image
        self.offset = offset
        self.window = window
    }

    /// The 20 octets.
    public var encoded: [UInt8] {
        var writer = ByteWriter(capacity: 20)
        writer.uint8(state.rawValue)
        writer.uint8(failure.rawValue)
        writer.uint16(model)
        writer.uint32(capacity)
        writer.append((image + [0, 0, 0, 0]).prefix(4))
        writer.uint32(offset)
        writer.uint32(window)
        return writer.bytes
    }

    /// Reads the 20 octets; `nil` for anything else.
    public init?(_ octets: some Collection<UInt8>) {
        var reader = ByteReader(Array(octets))
        guard let state = reader.uint8().flatMap(State.init), let failure = reader.uint8(), let model = reader.uint16(),
            let capacity = reader.uint32(), let image = reader.bytes(4), let offset = reader.uint32(),
            let window = reader.uint32(), reader.isAtEnd
        else { return nil }
        self.init(
            state: state,
            failure: Failure(rawValue: failure),
            model: model,
            capacity: capacity,
            image: Array(image),
            offset: offset,
            window: window
        )
    }
}

extension PlainUpdateStatus.Failure: CustomStringConvertible {
    /// The failure in words.
    public var description: String {
        switch self {
        case .none: "no failure"
        case .tooLarge: "the image is too large"
        case .wrongModel: "the image is for another model"
        case .wrongHash: "the image that arrived is not the one that was announced"
        case .storage: "the image could not be stored"
        default: "failure \(rawValue)"
        }
    }
}
