import Testing

@testable import BLEStreams

@Suite struct MCUmgrUploadTests {
    @Test func `the first request stands alone, then the window is filled`() throws {
        var upload = MCUmgrUpload(size: 1000, window: 3)
        #expect(upload.nextOffset == 0)
        upload.sent(1, count: 100, isFirst: true)
        #expect(upload.nextOffset == nil)
        // A device that has 400 already.
        #expect(try upload.answered(1, offset: 400))
        for (sequence, offset) in [(2, 400), (3, 500), (4, 600)] {
            #expect(upload.nextOffset == offset)
            upload.sent(UInt8(sequence), count: 100, isFirst: false)
        }
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(2, offset: 500))
        #expect(upload.nextOffset == 700 && upload.confirmed == 500)
        #expect(try !upload.answered(99, offset: 0))
    }

    @Test func `what the device did not get is sent again when everything under way is answered`() throws {
        var upload = MCUmgrUpload(size: 400, window: 3)
        upload.sent(1, count: 100, isFirst: true)
        #expect(try upload.answered(1, offset: 100))
        for sequence in UInt8(2)...4 { upload.sent(sequence, count: 100, isFirst: false) }
        #expect(try upload.answered(2, offset: 100))
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(3, offset: 100) && upload.answered(4, offset: 100))
        #expect(upload.nextOffset == 100 && !upload.isComplete)
        for sequence in UInt8(5)...7 { upload.sent(sequence, count: 100, isFirst: false) }
        for sequence in UInt8(5)...7 { #expect(try upload.answered(sequence, offset: 100 * (Int(sequence) - 3))) }
        #expect(upload.isComplete)
    }

    @Test func `answers that can't be are refused`() throws {
        var upload = MCUmgrUpload(size: 400, window: 1)
        upload.sent(1, count: 100, isFirst: true)
        #expect(throws: MCUmgrUpload.Fault.beyondTheEnd(offset: 401, size: 400)) { try upload.answered(1, offset: 401) }
        upload = MCUmgrUpload(size: 400, window: 1)
        upload.sent(1, count: 100, isFirst: true)
        #expect(throws: MCUmgrUpload.Fault.missingOffset) { try upload.answered(1, offset: nil) }
    }
}
