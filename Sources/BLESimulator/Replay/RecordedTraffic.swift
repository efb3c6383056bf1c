public import BLEProtocol
internal import CLibrary

/// The advertisements and ATT traffic of a btsnoop file, to be replayed on a ``SimulatedAir``.
///
/// ```swift
/// let night = try RecordedTraffic(file: "night.btsnoop")
/// try await VirtualTime.run { time in
///     let air = SimulatedAir(time)
///     try await air.replay(night) {
///         let central = try await Central.open(.radio(air.adapter()))
///         let sensor = try await central.scan(for: .service(.heartRate)).first().peripheral
///         try await sensor.withLink { link in print(try await link.read(.batteryLevel)) }
///     }
/// }
/// ```
///
/// It reads the files of `TrafficCapture` and `FlightRecorder`, of `btmon -w`, and of Android's "HCI snoop log". A link
/// is included if the file contains its beginning. What is cut off or malformed is left out, and counted in
/// ``leftOut``. Where the recording machine's clock was set back, or forward by more than a year, time goes on.
public struct RecordedTraffic: Sendable {
    let traffic: CapturedTraffic
    let devices: [RecordedDevice]

    /// The largest file that is read, in octets: 64 MiB.
    public static let sizeLimit = 64 << 20

    /// Reads a file.
    ///
    /// - Throws: ``BLEError/Code/systemFailure`` with the `errno` if the file can't be read; ``BLEError/Code/overflow``
    ///   if it is larger than ``sizeLimit``; ``BLEError/Code/invalidArgument`` if it is not a btsnoop file, or one
    ///   whose packets are not HCI packets.
    public init(file path: String) throws { try self.init(try contents(of: path), from: path) }

    /// Reads the contents of a file.
    ///
    /// - Throws: ``BLEError/Code/invalidArgument`` if they are not a btsnoop file, or one whose packets are not HCI
    ///   packets.
    public init(_ octets: some Sequence<UInt8>) throws { try self.init(Array(octets), from: "the octets") }

    private init(_ octets: [UInt8], from source: String) throws(BLEError) {
        guard let traffic = CaptureReader.traffic(in: octets) else {
            throw .notAccepted(octets, from: source)
        }
        self.traffic = traffic
        devices = RecordedDevice.devices(of: traffic)
    }

    /// The peripherals with recorded links, in the order of their first links.
    public var peripherals: [BluetoothAddress] { devices.map(\.address) }

    /// How many advertisements the recording has.
    public var advertisementCount: Int { traffic.advertisements.count }

    /// The time from the first replayed event to the last one.
    public var duration: Duration {
        guard let begin = traffic.begin, let end = traffic.end else { return .zero }
        return end - begin
    }

    /// How many packets, links and advertisements were left out: cut off, or beyond 500,000 advertisements, 1,000,000
    /// PDUs, 1024 links or 256 links at once.
    public var leftOut: Int { traffic.leftOut }
}

/// The octets of a file. The corresponding C functions are `fopen` and `fread`.
private func contents(of path: String) throws(BLEError) -> [UInt8] {
    guard let file = fopen(path, "rbe") else { throw .unreadable(path, errno) }
    defer { fclose(file) }
    var octets: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = fread(&buffer, 1, buffer.count, file)
        if count == 0 { break }
        octets += buffer.prefix(count)
        guard octets.count <= RecordedTraffic.sizeLimit else {
            throw BLEError(
                .overflow,
                operation: "read recording",
                object: path,
                cause: "it has more than \(RecordedTraffic.sizeLimit >> 20) MiB",
                remedy: "Cut it: `editcap -r IN OUT FIRST-LAST` keeps a range of its packets."
            )
        }
    }
    if ferror(file) != 0 { throw .unreadable(path, errno) }
    return octets
}

extension BLEError {
    /// The octets are not a file that can be replayed; the error says what they are, as far as their beginning shows.
    fileprivate static func notAccepted(_ octets: [UInt8], from source: String) -> BLEError {
        let record = "Record one with TrafficCapture, `ble --capture`, `btmon -w` or Android's HCI snoop log."
        let convert = "Convert it: `tshark -r IN -F btsnoop -w OUT`."
        var reader = ByteReader(octets)
        let (cause, remedy) =
            if let header = BTSnoopHeader(decoding: &reader) {
                (
                    "its datalink is \(header.datalink.rawValue), and only 1001, 1002 (HCI) and 2001 (Linux's monitor) "
                        + "are accepted", record
                )
            } else {
                switch octets.prefix(4).map({ $0 }) {
                case []: ("it is empty", record)
                case [0x0A, 0x0D, 0x0D, 0x0A]: ("it is a pcapng file, not a btsnoop file", convert)
                case [0xD4, 0xC3, 0xB2, 0xA1], [0xA1, 0xB2, 0xC3, 0xD4], [0x4D, 0x3C, 0xB2, 0xA1],
                    [0xA1, 0xB2, 0x3C, 0x4D]:
                    ("it is a pcap file, not a btsnoop file", convert)
                case let start where start.starts(with: [0x1F, 0x8B]):
                    ("it is compressed", "Decompress it with gunzip.")
                default: ("it is not a btsnoop file", record)
                }
            }
        return BLEError(
            .invalidArgument,
            operation: "read recording",
            object: source,
            cause: cause,
            remedy: remedy
        )
    }

    fileprivate static func unreadable(_ path: String, _ number: Int32) -> BLEError {
        var error = BLEError(
            .systemFailure,
            operation: "read recording",
            object: path,
            cause: String(cString: strerror(number)),
            remedy: "Check that the file exists, and that this user may read it."
        )
        error.systemError = number
        return error
    }
}
