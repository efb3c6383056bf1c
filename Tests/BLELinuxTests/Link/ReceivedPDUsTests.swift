import BLEProtocol
import BLERadio
import Testing

@Suite struct ReceivedPDUsTests {
    private func time(_ second: Int) -> ReceptionTime {
        ReceptionTime(sinceEpoch: .seconds(second), source: .simulation)
    }

    @Test func `PDUs of arrays of their own and of shared ones keep their order, octets and times`() {
        var pdus = ReceivedPDUs([1, 2, 3], time: time(1))
        let shared = pdus.add([4, 5, 6, 7, 8])
        pdus.append(0..<1, ofArray: shared, time: time(2))
        pdus.append([9], time: time(3))
        pdus.append(1..<5, ofArray: shared, time: time(4))
        #expect(pdus.map { Array($0.bytes) } == [[1, 2, 3], [4], [9], [5, 6, 7, 8]])
        #expect(pdus.map(\.time) == (1...4).map(time))
        #expect(ReceivedPDUs(pdus).elementsEqual(pdus))
    }

    @Test func `nothing behind the end of a PDU is told, nor what lies beside it`() {
        var pdus = ReceivedPDUs()
        let shared = pdus.add([1, 2, 3, 4])
        for range in [0..<4, 1..<3, 3..<4] { pdus.append(range, ofArray: shared, time: time(1)) }
        #expect(pdus.head(of: 0) == (1, 2, 3))
        #expect(pdus.head(of: 1) == (2, 3, nil))
        #expect(pdus.head(of: 2) == (4, nil, nil))
        #expect(pdus.indices.map { Array(pdus.octets(of: $0, from: 2)) } == [[3, 4], [], []])
        #expect(pdus.octets(of: 2, from: 9).isEmpty)
    }
}
