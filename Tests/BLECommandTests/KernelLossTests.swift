import BLEStreams
import Foundation
import Glibc
import Testing

@testable import BLEStreamsTests
@testable import ble

/// What is lost between the controller and the command is counted, once.
@Suite(.timeLimit(.minutes(10))) struct KernelLossTests {
    @Test(arguments: [[], ["--secure", "encrypted"]])
    func `notify counts what the kernel had no room for, once, and shows its place`(_ options: [String]) async throws {
        BrokenPipes.areErrors
        var ends: [Int32] = [0, 0]
        let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        try #require(status == 0)
        let (lines, writing) = (LineReader(ends[0]), ends[1])
        let radio = OneLinkRadio(security: LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16))
        radio.link.subscribed([[0x1B, 3, 0, 1]])
        let words = ["\(Demo.heartRate)/random", "A001", "--count", "2"] + options
        let notify = try Notify(Arguments(parsing: words, options: Notify.options))
        try await withEnvironment(on: .radio(radio), printingTo: Output(isJSON: true, to: writing)) { environment in
            async let printing: Void = {
                defer { close(writing) }
                try await notify.run(in: environment)
            }()
            let first = await lines.next()
            radio.link.drop(7)
            radio.link.bring([[0x1B, 3, 0, 2]])
            try await printing
            let rest = await lines.rest()
            #expect(try object(first)["value"] as? String == "01")
            let gap = try object(rest.first)["gap"] as? [String: Any]
            #expect(rest.count == 3 && gap?["dropped"] as? Int == 7, "\(rest)")
            #expect(rest.last == #"{"received":2,"dropped":7}"#, "\(rest)")
        }
    }
}
