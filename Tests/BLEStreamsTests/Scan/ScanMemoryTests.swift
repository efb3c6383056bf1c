import BLEProtocol
import BLERadio
import Testing

@testable import BLEStreams

/// What is remembered of advertisements, so that what a device repeats is looked into once.
@Suite struct ScanMemoryTests {
    private static func report(_ number: UInt64, _ fields: [UInt8], rssi: Int8 = -60, connectable: Bool = true)
        -> AdvertisingReport
    {
        AdvertisingReport(
            address: BluetoothAddress(rawValue: number, kind: .random),
            rssi: rssi,
            isConnectable: connectable,
            data: AdvertisingData(bytes: fields),
            time: ReceptionTime(sinceEpoch: .zero, source: .reading)
        )
    }

    private static let heart: [UInt8] = [3, 3, 0x0D, 0x18]
    private static let battery: [UInt8] = [3, 3, 0x0F, 0x18]

    @Test func `each scan is given what it looks for, the first time and each time`() {
        let criteria = [
            ScanCriteria([.service(.heartRate)]), ScanCriteria([.service(.battery)]), ScanCriteria([]),
            ScanCriteria([.rssi(atLeast: -50)]), ScanCriteria([.connectable]),
        ]
        var memory = ScanMemory()
        for _ in 0..<3 {
            #expect(memory.chosen(Self.report(1, Self.heart), criteria) == [0, 2, 4])
            #expect(memory.chosen(Self.report(2, Self.battery, rssi: -40), criteria) == [1, 2, 3, 4])
            // The signal is another one each time, and so may be what it sends, and whether it can be connected to.
            #expect(memory.chosen(Self.report(1, Self.heart, rssi: -40), criteria) == [0, 2, 3, 4])
            #expect(memory.chosen(Self.report(1, Self.battery), criteria) == [1, 2, 4])
            #expect(memory.chosen(Self.report(1, Self.battery, connectable: false), criteria) == [1, 2])
        }
    }

    @Test func `whose private address a scan looks for is asked each time, since a pairing tells it`() throws {
        let key = try #require(SecretKey(octets: (0..<16).map { UInt8($0) }))
        let peer = BluetoothAddress(rawValue: 0xC0_0000_0000_01, kind: .random)
        let identities = KnownIdentities()
        let criteria = [
            ScanCriteria([.address(key.privateAddress(1))], identity: identities.identity(of:)),
            ScanCriteria([.address(peer)], identity: identities.identity(of:)),
        ]
        var memory = ScanMemory()
        // The adapter may know the identity before the program does.
        let report = Self.report(peer.rawValue, Self.heart)
        #expect(memory.chosen(report, criteria) == [1])
        identities.add(Bond(peer: peer, adapter: peer, encryptionKeys: [], identityKey: key))
        for _ in 0..<2 {
            #expect(memory.chosen(report, criteria) == [0, 1])
            #expect(memory.chosen(Self.report(2, Self.heart), criteria) == [])
        }
    }

    @Test func `other scans are not taken for those before them`() {
        var memory = ScanMemory()
        let report = Self.report(1, Self.heart)
        #expect(memory.chosen(report, [ScanCriteria([.service(.heartRate)])], version: 1) == [0])
        #expect(memory.chosen(report, [ScanCriteria([.service(.battery)])], version: 2) == [])
    }

    @Test func `however many devices and scans there are, each is given what it looks for`() {
        var memory = ScanMemory()
        let criteria = (0..<70).map { ScanCriteria($0 == 69 ? [.service(.battery)] : [.service(.heartRate)]) }
        for number in 0..<3000 as Range<UInt64> {
            #expect(memory.chosen(Self.report(number, Self.battery), criteria) == [69])
            #expect(memory.chosen(Self.report(0, Self.heart), criteria) == Array(0..<69))
        }
    }
}

extension ScanMemory {
    /// The places of the scans that want an advertisement.
    fileprivate mutating func chosen(
        _ report: AdvertisingReport,
        _ criteria: [ScanCriteria],
        version: Int = 1
    ) -> [Int] {
        var places: [Int] = []
        choose(report, among: criteria, version: version) { places.append($0) }
        return places
    }
}
