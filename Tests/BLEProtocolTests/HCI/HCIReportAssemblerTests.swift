import Testing

@testable import BLEProtocol

@Suite struct HCIReportAssemblerTests {
    private func report(
        _ number: UInt64,
        _ status: HCIAdvertisingReport.DataStatus,
        _ data: [UInt8],
        set: UInt8 = 0,
        kind: HCIAdvertisingReport.Kind = []
    ) -> HCIAdvertisingReport {
        HCIAdvertisingReport(
            address: BluetoothAddress(rawValue: number, kind: .random),
            kind: kind,
            dataStatus: status,
            rssi: -50,
            set: set,
            data: AdvertisingData(bytes: data)
        )
    }

    @Test func `a report in one piece passes`() {
        var assembler = HCIReportAssembler()
        let whole = report(1, .complete, [1])
        #expect(assembler.add(whole) == whole)
    }

    @Test func `pieces are joined in their order`() {
        var assembler = HCIReportAssembler()
        #expect(assembler.add(report(1, .moreToCome, [1])) == nil)
        #expect(assembler.add(report(1, .moreToCome, [2])) == nil)
        #expect(assembler.add(report(1, .complete, [3]))?.data.bytes == [1, 2, 3])
        #expect(assembler.add(report(1, .complete, [4]))?.data.bytes == [4])
    }

    @Test func `advertisers, sets and scan responses are kept apart`() {
        var assembler = HCIReportAssembler()
        _ = assembler.add(report(1, .moreToCome, [1]))
        _ = assembler.add(report(2, .moreToCome, [2]))
        _ = assembler.add(report(1, .moreToCome, [3], set: 1))
        _ = assembler.add(report(1, .moreToCome, [4], kind: .scanResponse))
        #expect(assembler.add(report(1, .complete, [9], set: 1))?.data.bytes == [3, 9])
        #expect(assembler.add(report(1, .complete, [9], kind: .scanResponse))?.data.bytes == [4, 9])
        #expect(assembler.add(report(2, .complete, [9]))?.data.bytes == [2, 9])
        #expect(assembler.add(report(1, .complete, [9]))?.data.bytes == [1, 9])
    }

    @Test func `a truncated advertisement is given back with what came`() {
        var assembler = HCIReportAssembler()
        _ = assembler.add(report(1, .moreToCome, [1]))
        let whole = assembler.add(report(1, .truncated, [2]))
        #expect(whole?.data.bytes == [1, 2] && whole?.dataStatus == .truncated)
    }

    @Test func `more data than an advertisement can have is thrown away`() {
        var assembler = HCIReportAssembler()
        let piece = [UInt8](repeating: 0, count: 229)
        for _ in 0..<7 { #expect(assembler.add(report(1, .moreToCome, piece)) == nil) }
        #expect(assembler.add(report(1, .moreToCome, piece)) == nil)
        #expect(assembler.add(report(1, .complete, [7]))?.data.bytes == [7])
    }

    @Test func `of many unfinished advertisements the oldest are forgotten`() {
        var assembler = HCIReportAssembler()
        for number in UInt64(0)..<1000 { _ = assembler.add(report(number, .moreToCome, [1])) }
        #expect(assembler.add(report(967, .complete, [2]))?.data.bytes == [2])
        #expect(assembler.add(report(968, .complete, [2]))?.data.bytes == [1, 2])
    }
}
