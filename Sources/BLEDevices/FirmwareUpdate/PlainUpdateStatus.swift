public import BLEProtocol

extension FirmwareUpdateFlow {
    /// The plain update protocol on air: one service, three characteristics.
    ///
    /// | characteristic | properties | octets, numbers least significant octet first |
    /// |---|---|---|
    /// | status | read, notify | ``PlainUpdateStatus``: 20 octets |
    /// | control | write | begin: `01`, size (4), model (2), SHA-256 (32); abandon: `02` |
    /// | data | write, write without response | the next octets of the image |
    ///
    /// The device notifies its status at the beginning, whenever it grants more room, and at the end. A status that
    /// only repeats the one before does not make the host wait longer. If the link is lost, the device keeps what it
    /// has, and continues there when the same image is sent again. A status that names another image than the one
    /// announced is ignored; a device that refuses or abandons an image need not name it.
    public struct PlainProfile: Hashable, Sendable {
        /// The service.
        public var service: BluetoothUUID
        /// Reports the device's progress.
        public var status: BluetoothUUID
        /// Begins and abandons an update.
        public var control: BluetoothUUID
        /// Receives the image.
        public var data: BluetoothUUID

        /// Describes a device that uses the protocol with other UUIDs.
        public init(service: BluetoothUUID, status: BluetoothUUID, control: BluetoothUUID, data: BluetoothUUID) {
            self.service = service
            self.status = status
            self.control = control
            self.data = data
        }

        /// The default UUIDs, defined by this package.
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

/// A device's report on its update.
public struct PlainUpdateStatus: Hashable, Sendable {
    /// The stage of an update.
    public enum State: UInt8, Hashable, Sendable {
        /// It is ready for an image.
        case idle = 0
        /// It is receiving one.
        case receiving = 1
        /// It has one, complete and verified.
        case complete = 2
        /// It could not accept the last one; see ``PlainUpdateStatus/failure``.
        case failed = 3
    }

    /// Why it could not accept an image.
    public struct Failure: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8
        /// Makes a failure from its octet.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// No failure.
        public static let none = Failure(rawValue: 0)
        /// It is too large.
        public static let tooLarge = Failure(rawValue: 1)
        /// It is for another model.
        public static let wrongModel = Failure(rawValue: 2)
        /// Its octets don't match the announced hash.
        public static let wrongHash = Failure(rawValue: 3)
        /// It could not be stored.
        public static let storage = Failure(rawValue: 4)
    }

    /// How far it is.
    public var state: State
    /// Why the last image was not accepted.
    public var failure: Failure
    /// The device's model.
    public var model: UInt16
    /// The largest image that it accepts, in octets.
    public var capacity: UInt32
    /// The first four octets of the SHA-256 of the image that it is receiving, has, or, if it has failed, has refused;
    /// zeros if there is none. A host ignores a failure that names any other image.
    public var image: [UInt8]
    /// The next octet of the image that it expects; it has all before.
    public var offset: UInt32
    /// How many octets may be sent from there before the next status.
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

    /// Decodes the 20 octets; `nil` for anything else.
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
        case .wrongHash: "the received image does not match the announced hash"
        case .storage: "the image could not be stored"
        default: "failure \(rawValue)"
        }
    }
}
