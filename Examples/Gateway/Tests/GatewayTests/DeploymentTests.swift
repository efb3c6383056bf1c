import Foundation
import TestBroker
import Testing

@Suite("What deploys the gateway")
struct DeploymentTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Deployment")
        .standardized
    private static let checker = "/usr/bin/systemd-analyze"

    @Test(
        "is a service that systemd accepts without a warning",
        .enabled(if: FileManager.default.isExecutableFile(atPath: checker), "systemd is not installed")
    )
    func service() async throws {
        let unit = try String(contentsOf: Self.folder.appending(path: "ble-gateway.service"), encoding: .utf8)
        let installed = "/usr/local/bin/ble-gateway"
        #expect(unit.contains("ExecStart=\(installed) "))
        let folder = try temporaryFolder("service")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let file = "\(folder)/ble-gateway.service"
        let built = unit.replacing("ExecStart=\(installed) ", with: "ExecStart=\(gatewayProgram) ")
        try built.write(toFile: file, atomically: true, encoding: .utf8)
        let check = try RunningProgram(Self.checker, ["verify", "--man=no", file])
        var complaints: [String] = []
        while let line = await check.next() { if line.contains("ble-gateway") { complaints.append(line) } }
        #expect(complaints == [])
        #expect(await check.waitForEnd() == 0)
    }
}
