import BLEProtocol
import BLERadio
import Synchronization
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

    @Test(
        arguments: [
            // The kernel says that it has what was wanted, and has not.
            (3, .encrypted, .encrypted),
            (4, .encrypted, .encrypted),
            (4, .authenticated, .authenticated),
            // As it was, or lower.
            (2, .encrypted, .encrypted),
            (1, .encrypted, nil),
            // None has failed.
            (4, nil, .secureConnections),
        ] as [(UInt8, LinkSecurity.Level?, LinkSecurity.Level?)]
    )
    func `after a pairing for better keys that has failed the kernel is believed up to what there was`(
        _ level: UInt8,
        _ former: LinkSecurity.Level?,
        _ believed: LinkSecurity.Level?
    ) {
        let ceiling = former.map { LinkSecurity(level: $0.kernelLevel, keySize: 16) }
        #expect(LinkSecurity(level: level, keySize: 16, upTo: ceiling).level == believed)
    }

    @Test func `a link has that ceiling from the beginning of a try on, and until one succeeds`() throws {
        let pair = try SocketPair()
        let environment = FakeEnvironment()
        let link = SocketLink(testing: pair.near, loop: try EventLoop(name: "test"), environment: environment)
        var ceiling: LinkSecurity? { link.state.withLock { $0.securityCeiling } }
        let outcomes: [(Result<Bond?, BLEError>, keepsIt: Bool)] = [
            (.failure(BLEError(.securityFailed, operation: "pair", cause: "refused")), true), (.success(nil), false),
        ]
        for (outcome, keepsIt) in outcomes {
            let activity = link.raise(to: .authenticated, asking: .justWorks) { _ in }
            #expect(ceiling != nil)
            environment.endRaising(with: outcome)
            #expect((ceiling != nil) == keepsIt)
            withExtendedLifetime(activity) {}
        }
    }

    @Test(arguments: LinkSecurity.Level.allCases)
    func `a level has the kernel's number`(_ level: LinkSecurity.Level) {
        #expect(LinkSecurity(level: level.kernelLevel, keySize: 16).level == level)
        #expect(LinkSecurity(level: level.kernelLevel - 1, keySize: 16).level != level)
    }
}
