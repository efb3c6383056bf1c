import Testing

@testable import BLELinux

@Suite struct KernelFaultsTests {
    @Test(arguments: [
        ("6.1.0-56-amd64", true), ("6.1.192", true), ("6.12.117+deb12-amd64", false), ("6.11.0", false),
        ("5.10.0", false),
        ("", false),
    ])
    func `the line of Debian 12 may have the fault of closing`(_ release: String, _ has: Bool) {
        #expect(KernelFaults.has(release: release) == has)
    }

    @Test func `the running kernel has a release`() {
        #expect(kernelRelease().contains("."))
    }
}
