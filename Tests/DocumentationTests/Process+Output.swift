import Foundation

extension Process {
    /// Runs the program to its end. It finds nothing on standard input, and prints results and complaints into a file.
    ///
    /// - Parameter output: that file, which is overwritten. A pipe that another test's child inherits would stay open.
    func runToEnd(printingTo output: URL) throws {
        try Data().write(to: output)
        let handle = try FileHandle(forWritingTo: output)
        standardInput = FileHandle.nullDevice
        standardOutput = handle
        standardError = handle
        try run()
        waitUntilExit()
        try handle.close()
    }
}
