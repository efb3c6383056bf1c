import Foundation
import RadioDoubles
import Testing

/// What is printed when a program crashes that holds secrets: `Crasher`, which has paired, and has read a value.
@Suite(.timeLimit(.minutes(10))) struct CrashTests {
    /// Runs it until it crashes; what it has printed, and its backtrace with that.
    private func crash(_ how: String, backtrace: String) throws -> String {
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appending(path: "Crasher")
        let (child, said) = (Process(), Pipe())
        child.executableURL = program
        child.arguments = [how]
        child.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": backtrace]) { $1 }
        child.standardInput = FileHandle.nullDevice
        child.standardOutput = said
        child.standardError = said
        try child.run()
        let text = String(decoding: said.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        child.waitUntilExit()
        #expect(child.terminationReason == .uncaughtSignal, "it did not crash: \(child.terminationStatus) \(text)")
        // Read by the search through what all tests print, too.
        print(text)
        return text
    }

    /// Swift's backtrace shows the octets at each address in a register unless it is told not to, as the page about
    /// threats says.
    @Test(arguments: ["index", "message", "memory", "work"])
    func `no crash shows a key, a passkey or a value, with and without a backtrace`(how: String) throws {
        for backtrace in ["enable=no", "enable=yes,registers=none,color=no,output-to=stderr,interactive=no"] {
            let text = try crash(how, backtrace: backtrace)
            #expect(Planted.found(in: text).isEmpty, "\(how), \(backtrace)")
            if backtrace.hasPrefix("enable=yes") { #expect(text.contains("crash(_:_:)"), "there is no backtrace") }
        }
    }
}
