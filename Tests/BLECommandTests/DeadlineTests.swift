import BLEStreams
import Testing

@testable import ble

/// The time limit of a command, which its steps share.
@Suite(.timeLimit(.minutes(10))) struct DeadlineTests {
    private func error(_ code: BLEError.Code = .timedOut, after time: Duration) -> BLEError {
        var error = BLEError(code, operation: "read", object: "of 2A19", cause: "no answer came within \(time)")
        error.elapsed = time
        return error
    }

    @Test func `a step that had only the rest of the time names the whole, and no other error does`() {
        let over = Deadline(in: .seconds(3), from: .now - .seconds(3))
        let late = over.completing(error(after: .milliseconds(2590)))
        #expect(late.cause == "no answer came within 2.59 seconds, all that was left of 3.0 seconds")
        #expect(over.completing(error(after: .seconds(3))).cause == "no answer came within 3.0 seconds")
        // The words belong to the time, and not to what follows it.
        var explained = error(after: .seconds(2))
        explained.cause += ": its MTU was not agreed on"
        let words = "no answer came within 2.0 seconds, all that was left of 3.0 seconds: its MTU was not agreed on"
        #expect(over.completing(explained).cause == words)
        // The limit that Bluetooth sets; the time is over by the time that the link has closed.
        var specified = error(after: .seconds(2))
        specified.cause = "the peer did not answer within 2 s, so the link was closed, as the specification requires"
        #expect(over.completing(specified).cause == specified.cause)
        // The limit of a protocol, which is over before that of the command.
        let remaining = Deadline(in: .seconds(60))
        #expect(remaining.completing(error(after: .seconds(30))).cause == "no answer came within 30.0 seconds")
        // The limit of a request, behind the time for connecting.
        let connecting = Deadline(in: .seconds(30), from: .now - .seconds(40), isShared: false)
        #expect(connecting.completing(error(after: .seconds(5))).cause == "no answer came within 5.0 seconds")
        #expect(over.completing(error(.disconnected, after: .seconds(1))).cause == "no answer came within 1.0 seconds")
    }

    @Test(arguments: [["transfer", Demo.trouble, Demo.mute], ["read", Demo.trouble, Demo.silent]])
    func `a command names the time that it was given, whichever of its steps takes too long`(
        words: [String]
    ) async throws {
        let run = try await CommandRun(words + ["--timeout", "2"]).end()
        #expect(run.status == 1 && run.complaint.contains(", all that was left of 2.0 seconds"), "\(run.complaint)")
    }
}
