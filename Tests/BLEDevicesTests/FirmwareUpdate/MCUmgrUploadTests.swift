import Testing

@testable import BLEDevices
@testable import BLEStreams
@testable import BLEStreamsTests

@Suite struct MCUmgrUploadTests {
    @Test func `the first request stands alone, then the window is filled`() throws {
        var upload = MCUmgrUpload(size: 1000, window: 3)
        #expect(upload.nextOffset == 0)
        upload.sent(1, count: 100)
        #expect(upload.nextOffset == nil)
        // A device that has 400 already.
        #expect(try upload.answered(1, offset: 400))
        for (sequence, offset) in [(2, 400), (3, 500), (4, 600)] {
            #expect(upload.nextOffset == offset)
            upload.sent(UInt8(sequence), count: 100)
        }
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(2, offset: 500))
        #expect(upload.nextOffset == 700 && upload.confirmed == 500)
        #expect(try !upload.answered(99, offset: 0))
    }

    @Test func `what the device did not get is sent again when everything under way is answered`() throws {
        var upload = MCUmgrUpload(size: 400, window: 3)
        upload.sent(1, count: 100)
        #expect(try upload.answered(1, offset: 100))
        for sequence in UInt8(2)...4 { upload.sent(sequence, count: 100) }
        #expect(try upload.answered(2, offset: 100))
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(3, offset: 100) && upload.answered(4, offset: 100))
        #expect(upload.nextOffset == 100 && !upload.isComplete)
        for sequence in UInt8(5)...7 { upload.sent(sequence, count: 100) }
        for sequence in UInt8(5)...7 { #expect(try upload.answered(sequence, offset: 100 * (Int(sequence) - 3))) }
        #expect(upload.isComplete)
    }

    @Test func `answers that can't be are refused`() throws {
        var upload = MCUmgrUpload(size: 400, window: 1)
        upload.sent(1, count: 100)
        #expect(throws: MCUmgrUpload.Fault.beyondTheEnd(offset: 401, size: 400)) { try upload.answered(1, offset: 401) }
        upload = MCUmgrUpload(size: 400, window: 1)
        upload.sent(1, count: 100)
        #expect(throws: MCUmgrUpload.Fault.missingOffset) { try upload.answered(1, offset: nil) }
    }

    /// An upload with 100 octets confirmed and requests for the next 300 under way, numbered 2 to 4.
    private static func underWay() throws -> MCUmgrUpload {
        var upload = MCUmgrUpload(size: 1000, window: 3)
        upload.sent(1, count: 100)
        _ = try upload.answered(1, offset: 100)
        for sequence in UInt8(2)...4 { upload.sent(sequence, count: 100) }
        return upload
    }

    @Test func `behind a busy it pauses once everything is answered, and asks where to go on`() throws {
        var upload = try Self.underWay()
        #expect(try upload.answered(2, offset: 200) && upload.refused(3))
        #expect(upload.nextOffset == nil && !upload.needsPause)
        // The one behind it comes too early for the device, which says what it wants.
        #expect(try upload.answered(4, offset: 200))
        #expect(upload.needsPause && upload.nextOffset == nil)
        upload.paused()
        #expect(upload.nextOffset == 200)
        upload.sent(5, count: 100)
        #expect(upload.nextOffset == nil)
        // It had the part after all.
        #expect(try upload.answered(5, offset: 400))
        #expect(upload.nextOffset == 400 && upload.confirmed == 400)
        #expect(try !upload.refused(3))
    }

    @Test func `when answers stay away, one request asks where to go on, and late answers are let go`() throws {
        var upload = try Self.underWay()
        upload.timedOut()
        #expect(upload.needsPause && upload.nextOffset == nil)
        upload.paused()
        #expect(upload.nextOffset == 100)
        upload.sent(5, count: 100)
        #expect(try !upload.answered(2, offset: 200))
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(5, offset: 300) && upload.nextOffset == 300)
    }

    @Test func `a device that begins anew, or has all of it and has not said so, gets the first part alone`() throws {
        var upload = MCUmgrUpload(size: 400, window: 3)
        upload.sent(1, count: 100)
        _ = try upload.answered(1, offset: 100)
        for sequence in UInt8(2)...4 { upload.sent(sequence, count: 100) }
        // The answer to the last part is lost. Behind its end, a device wants the first part of another upload.
        #expect(try upload.answered(2, offset: 200) && upload.answered(3, offset: 300))
        upload.timedOut()
        upload.paused()
        upload.sent(5, count: 100)
        #expect(try upload.answered(5, offset: 0) && upload.nextOffset == 0)
        upload.sent(6, count: 100)
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(6, offset: 400) && upload.isComplete)
    }

    @Test func `a device that wants the first part in the middle gets it alone`() throws {
        var upload = try Self.underWay()
        for pending in UInt8(2)...4 { #expect(try upload.answered(pending, offset: 0)) }
        #expect(upload.nextOffset == 0)
        upload.sent(5, count: 100)
        #expect(upload.nextOffset == nil)
        #expect(try upload.answered(5, offset: 100) && upload.nextOffset == 100)
    }

    @Test func `a first part that is refused is sent again from the beginning`() throws {
        var upload = MCUmgrUpload(size: 1000, window: 3)
        upload.sent(1, count: 100)
        #expect(try upload.refused(1) && upload.needsPause)
        upload.paused()
        #expect(upload.nextOffset == 0 && upload.confirmed == 0)
    }

    @Test func `a device that goes back and forth gets nowhere, and is given up`() throws {
        var upload = try Self.underWay()
        var sequence: UInt8 = 4
        for pending in UInt8(2)...4 { _ = try upload.answered(pending, offset: 100) }
        #expect(throws: MCUmgrUpload.Fault.stuck(at: 50)) {
            for _ in 0..<100 {
                while upload.nextOffset != nil {
                    sequence += 1
                    upload.sent(sequence, count: 10)
                }
                for (pending, offset) in zip(sequence - 2...sequence, [50, 100, 50]) {
                    _ = try upload.answered(pending, offset: offset)
                }
            }
        }
    }
}
