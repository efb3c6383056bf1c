import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite struct HCIReportMergerTests {
    private static let time = ReceptionTime(sinceEpoch: .seconds(1), source: .kernel)

    /// A legacy report of the given type from one of a few devices.
    private func advertisement(_ type: UInt8, _ data: [UInt8], device: UInt8 = 1) throws -> HCIAdvertisement {
        var reader = ByteReader([type, 1, device, 0, 0, 0, 0, 0xC0, UInt8(data.count)] + data + [0xD0])
        return try #require(HCIAdvertisement(legacy: &reader))
    }

    private func add(
        _ merger: inout HCIReportMerger,
        _ advertisement: HCIAdvertisement,
        isActive: Bool = true
    ) -> [[UInt8]] {
        merger.add(advertisement, isActive: isActive, time: Self.time).map(\.data.bytes)
    }

    @Test func `an advertisement and its scan response are one report`() throws {
        var merger = HCIReportMerger()
        #expect(add(&merger, try advertisement(0x00, [2, 1, 6])).isEmpty)
        #expect(merger.isHolding)
        #expect(add(&merger, try advertisement(0x04, [2, 10, 4])) == [[2, 1, 6, 2, 10, 4]])
        #expect(!merger.isHolding)
    }

    @Test func `what pads an advertisement hides nothing of its scan response`() throws {
        var merger = HCIReportMerger()
        let padded: [UInt8] = [2, 1, 6] + [UInt8](repeating: 0, count: 28)
        #expect(add(&merger, try advertisement(0x00, padded)).isEmpty)
        #expect(add(&merger, try advertisement(0x04, [3, 9, 0x41, 0x42])) == [[2, 1, 6, 3, 9, 0x41, 0x42]])
        // Part of a structure may be zero, and what comes in fragments has no end before the last one.
        var fragment = try advertisement(0x03, [3, 0xFF, 0])
        fragment.isIncomplete = true
        #expect(add(&merger, fragment).isEmpty)
        #expect(add(&merger, try advertisement(0x03, [0, 2, 1, 6])) == [[3, 0xFF, 0, 0, 2, 1, 6]])
    }

    @Test func `responses find their device whatever comes between`() throws {
        var merger = HCIReportMerger()
        #expect(add(&merger, try advertisement(0x00, [1, 1], device: 1)).isEmpty)
        #expect(add(&merger, try advertisement(0x02, [1, 2], device: 2)).isEmpty)
        #expect(add(&merger, try advertisement(0x03, [1, 3], device: 3)) == [[1, 3]])
        #expect(add(&merger, try advertisement(0x04, [1, 9], device: 1)) == [[1, 1, 1, 9]])
        #expect(add(&merger, try advertisement(0x04, [1, 8], device: 2)) == [[1, 2, 1, 8]])
    }

    @Test func `without a response an advertisement goes out with the next one, or after two flushes`() throws {
        var merger = HCIReportMerger()
        #expect(add(&merger, try advertisement(0x00, [1])).isEmpty)
        #expect(add(&merger, try advertisement(0x00, [2])) == [[1]])
        #expect(merger.flush().isEmpty)
        #expect(merger.flush().map(\.data.bytes) == [[2]])
        #expect(!merger.isHolding)
    }

    @Test func `in a passive scan nothing is held back`() throws {
        var merger = HCIReportMerger()
        #expect(add(&merger, try advertisement(0x00, [1]), isActive: false) == [[1]])
        #expect(!merger.isHolding)
    }

    @Test func `a response alone is a report of its own`() throws {
        var merger = HCIReportMerger()
        #expect(add(&merger, try advertisement(0x04, [9])) == [[9]])
    }

    @Test func `what is held is bounded`() throws {
        var merger = HCIReportMerger()
        var given = 0
        for device in UInt8(0)..<200 { given += add(&merger, try advertisement(0x00, [device], device: device)).count }
        #expect(given == 200 - HCIReportMerger.maximumHeld)
    }

    @Test func `the fragments of a long advertisement are joined, up to what there can be`() throws {
        var merger = HCIReportMerger()
        var fragment = try advertisement(0x03, [UInt8](repeating: 7, count: 200))
        fragment.isIncomplete = true
        #expect(add(&merger, fragment).isEmpty)
        #expect(add(&merger, fragment).isEmpty)
        var last = fragment
        last.isIncomplete = false
        #expect(add(&merger, last).map(\.count) == [600])

        var lengths: [Int] = []
        for _ in 0..<20 { lengths += add(&merger, fragment).map(\.count) }
        #expect(lengths.allSatisfy { $0 == HCIReportMerger.maximumData })
        #expect(!lengths.isEmpty)
    }

    @Test func `what a device sends in another set is no part of a long advertisement`() throws {
        var merger = HCIReportMerger()
        var first = try advertisement(0x03, [1, 1])
        (first.isIncomplete, first.set) = (true, 1)
        var last = try advertisement(0x03, [2, 2])
        last.set = 1
        var other = try advertisement(0x03, [3])
        #expect(add(&merger, first).isEmpty)
        #expect(add(&merger, other) == [[3]])
        other.set = 2
        #expect(add(&merger, other) == [[3]])
        #expect(add(&merger, last) == [[1, 1, 2, 2]])
        #expect(!merger.isHolding)
    }

    @Test(arguments: [nil, 1] as [UInt8?])
    func `a response finds the set that it answers for, whether or not it tells which`(_ told: UInt8?) throws {
        var merger = HCIReportMerger()
        var scannable = try advertisement(0x02, [1, 1])
        scannable.set = 1
        var long = try advertisement(0x03, [2])
        (long.isIncomplete, long.set) = (true, 2)
        var response = try advertisement(0x04, [1, 9])
        response.set = told
        #expect(add(&merger, long).isEmpty)
        #expect(add(&merger, scannable).isEmpty)
        #expect(add(&merger, response) == [[1, 1, 1, 9]])
    }

    @Test func `a long advertisement amid which events were lost isn't put together with the next one`() throws {
        var merger = HCIReportMerger()
        let last = try advertisement(0x03, [2])
        var first = last
        (first.isIncomplete, first.data) = (true, [1])
        #expect(add(&merger, first).isEmpty)
        merger.missedEvents()
        #expect(add(&merger, first).isEmpty)
        #expect(add(&merger, last).isEmpty)
        #expect(!merger.isHolding)
        #expect(add(&merger, first).isEmpty)
        #expect(add(&merger, last) == [[1, 2]])
    }

    @Test func `one that may lack a part is not reported, and what is whole is`() throws {
        var merger = HCIReportMerger()
        var first = try advertisement(0x03, [1], device: 1)
        first.isIncomplete = true
        #expect(add(&merger, first).isEmpty)
        #expect(add(&merger, try advertisement(0x00, [3], device: 2)).isEmpty)
        merger.missedEvents()
        #expect(merger.flush().isEmpty)
        #expect(merger.flush().map(\.data.bytes) == [[3]])
        #expect(!merger.isHolding)
    }
}
