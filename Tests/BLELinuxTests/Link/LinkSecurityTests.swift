import BLERadio
import Testing

@testable import BLELinux

@Suite struct LinkSecurityTests {
    @Test(
        arguments: [
            (1, 0, LinkSecurity.none),
            (1, 16, .none),
            (2, 16, LinkSecurity(isEncrypted: true, isAuthenticated: false, keySize: 16)),
            (3, 7, LinkSecurity(isEncrypted: true, isAuthenticated: true, keySize: 7)),
            (4, 16, LinkSecurity(isEncrypted: true, isAuthenticated: true, isSecureConnections: true, keySize: 16)),
        ] as [(UInt8, UInt8, LinkSecurity)]
    )
    func `the kernel's levels say how a link is protected`(_ level: UInt8, _ keySize: UInt8, _ security: LinkSecurity) {
        #expect(LinkSecurity(level: level, keySize: keySize) == security)
    }

    @Test(arguments: SecurityLevel.allCases)
    func `a level has the kernel's number`(_ level: SecurityLevel) {
        #expect(LinkSecurity(level: level.kernelLevel, keySize: 16).level == level)
        #expect(LinkSecurity(level: level.kernelLevel - 1, keySize: 16).level != level)
    }
}
